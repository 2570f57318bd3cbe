"""What Net.save writes for layers that share a name or a param."""

import numpy as np

import geeps_caffe as caffe
from prototxt import read_weights

SAME_NAMES = """
layer { name: "in" type: "Input" top: "x" input_param { shape { dim: 1 dim: 3 } } }
layer { name: "ip" type: "InnerProduct" bottom: "x" top: "y"
  inner_product_param { num_output: 2 weight_filler { type: "constant" value: 1 } } }
layer { name: "ip" type: "InnerProduct" bottom: "y" top: "z"
  inner_product_param { num_output: 4 weight_filler { type: "constant" value: 2 } } }
"""

PERMISSIVE = """
layer { name: "in" type: "Input" top: "x" input_param { shape { dim: 1 dim: 3 } } }
layer { name: "a" type: "InnerProduct" bottom: "x" top: "y" param { name: "w" }
  inner_product_param { num_output: 4 bias_term: false
    weight_filler { type: "xavier" } } }
layer { name: "b" type: "InnerProduct" bottom: "y" top: "z"
  param { name: "w" share_mode: PERMISSIVE }
  inner_product_param { num_output: 3 bias_term: false } }
"""


def saved(tmp_path, text):
    (tmp_path / "net.prototxt").write_text(text)
    net = caffe.Net(str(tmp_path / "net.prototxt"), caffe.TEST)
    path = str(tmp_path / "net.caffemodel")
    net.save(path)
    return net, path


def test_layers_of_one_name_keep_blobs_of_their_own(tmp_path):
    _, path = saved(tmp_path, SAME_NAMES)
    first, second = (layer for layer in read_weights(path).layers if layer.blobs)
    assert [blob.shape for blob in first.blobs] == [(2, 3), (2,)]
    assert [blob.shape for blob in second.blobs] == [(4, 2), (4,)]
    assert (second.blobs[0].array() == 2).all()


def test_a_param_shared_permissively_is_saved_in_each_layers_shape(tmp_path):
    net, path = saved(tmp_path, PERMISSIVE)
    weights = read_weights(path)
    mine, theirs = (weights.layer(name).blobs[0] for name in "ab")
    assert mine.shape == (4, 3) and theirs.shape == (3, 4)
    np.testing.assert_array_equal(mine.array().ravel(), theirs.array().ravel())
    net.copy_from(path)  # and it fits again
