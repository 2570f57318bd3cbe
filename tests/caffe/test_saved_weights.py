"""What Net.save writes for layers that share a name or a param."""

import h5py
import numpy as np
import pytest

import geeps_caffe as caffe
import prototxt
from geeps_caffe.errors import InputError
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


@pytest.mark.parametrize("engine", ["reference", "onednn"])
def test_a_param_shared_permissively_is_shown_in_each_layers_shape(tmp_path, engine):
    """As in Caffe: net.params["b"][0].data.shape is (3, 4), its numbers those of a."""
    (tmp_path / "net.prototxt").write_text(PERMISSIVE)
    caffe.set_engine(engine)
    try:
        net = caffe.Net(str(tmp_path / "net.prototxt"), caffe.TRAIN)
    finally:
        caffe.set_engine(None)
    mine, theirs = net.params["a"][0], net.params["b"][0]
    assert theirs.shape == theirs.data.shape == theirs.diff.shape == (3, 4)
    theirs.data[...] = np.arange(12).reshape(3, 4)
    np.testing.assert_array_equal(mine.data.ravel(), np.arange(12))
    net.blobs["x"].data[...] = [[1, 0, 0]]
    net.forward()
    np.testing.assert_allclose(net.blobs["y"].data, [[0, 3, 6, 9]])  # column 0 of a
    np.testing.assert_allclose(net.blobs["z"].data, [[42, 114, 186]])  # y by b's rows


SHARED = """
layer { name: "in" type: "Input" top: "x" input_param { shape { dim: 1 dim: 3 } } }
layer { name: "a" type: "InnerProduct" bottom: "x" top: "y"
  param { name: "w" } param { name: "b" }
  inner_product_param { num_output: 3 weight_filler { type: "xavier" } } }
layer { name: "b" type: "InnerProduct" bottom: "y" top: "z"
  param { WEIGHTS } param { BIAS }
  inner_product_param { num_output: 3 weight_filler { type: "xavier" } } }
"""


@pytest.mark.parametrize("weights", ["", 'name: "w"'])
@pytest.mark.parametrize("bias", ["", 'name: "b"'])
def test_hdf5_leaves_out_what_is_shared_and_is_read_again(tmp_path, weights, bias):
    text = SHARED.replace("WEIGHTS", weights).replace("BIAS", bias)
    net, _ = saved(tmp_path, text)
    net.params["b"][1].data[...] = 7
    path = str(tmp_path / "net.caffemodel.h5")
    net.save(path)
    with h5py.File(path) as file:  # as real Caffe's files have it
        assert list(file["data/a"]) == ["0", "1"]
        assert list(file["data/b"]) == [
            n for n, s in zip("01", (weights, bias), strict=True) if not s
        ]
    other = caffe.Net(str(tmp_path / "net.prototxt"), path, caffe.TEST)
    for layer, blobs in net.params.items():
        for mine, theirs in zip(blobs, other.params[layer], strict=True):
            np.testing.assert_array_equal(mine.data, theirs.data)


@pytest.mark.parametrize("present", [[], [0], [1]])
def test_hdf5_must_have_what_a_layer_owns(tmp_path, present):
    """Caffe: Incompatible number of blobs for layer b."""
    net, _ = saved(tmp_path, SHARED.replace("WEIGHTS", "").replace("BIAS", ""))
    path = tmp_path / "other.caffemodel.h5"
    with h5py.File(path, "w") as file:
        group = file.create_group("data/b")
        for index in present:
            group[str(index)] = np.zeros((3, 3)[index:], np.float32)
    message = rf"layer 'b' .* has 2 blobs, the file has {len(present)}"
    with pytest.raises(InputError, match=message):
        net.copy_from(str(path))


def test_a_layer_that_has_no_blobs_in_the_file_does_not_fit_one_that_learns(tmp_path):
    """Caffe: Incompatible number of blobs for layer a."""
    net, _ = saved(tmp_path, SHARED.replace("WEIGHTS", "").replace("BIAS", ""))
    path = tmp_path / "other.caffemodel"
    other = prototxt.parse_net('layer { name: "a" type: "ReLU" }').message
    path.write_bytes(other.SerializeToString())
    with pytest.raises(InputError, match=r"layer 'a' .* has 2 blobs, the file has 0"):
        net.copy_from(str(path))
