"""Python layers on a GPU: with copies for NumPy, or on its own arrays."""

import numpy as np
import pytest

from geeps_caffe.caffe import TRAIN, Net
from tests.cuda_double.fixtures import double

__all__ = ["double"]

NET = """
force_backward: true
layer { name: "in" type: "Input" top: "x" input_param { shape { dim: 3 dim: 7 } } }
layer { name: "own" type: "Python" bottom: "x" top: "y"
  python_param { module: "own_layers" layer: "KIND" } }
layer { name: "sum" type: "Reduction" bottom: "y" top: "sum" loss_weight: 1 }
"""
MODULE = """
from geeps_caffe import caffe

class OnHost(caffe.Layer):
    def setup(self, bottom, top): pass
    def reshape(self, bottom, top):
        top[0].reshape(*bottom[0].shape)
    def forward(self, bottom, top):
        on_device = hasattr(bottom[0].data, "__cuda_array_interface__")
        assert on_device == self.on_device
        top[0].data[...] = 2 * bottom[0].data + 1
    def backward(self, top, propagate_down, bottom):
        bottom[0].diff[...] = 2 * top[0].diff

class OnDevice(OnHost):
    on_device = True
"""


@pytest.mark.usefixtures("double")
@pytest.mark.parametrize("kind", ["OnHost", "OnDevice"])
def test_both_passes_are_the_users(tmp_path, kind):
    (tmp_path / "own_layers.py").write_text(MODULE)
    (tmp_path / "net.prototxt").write_text(NET.replace("KIND", kind))
    net = Net(str(tmp_path / "net.prototxt"), TRAIN, engine="cuda")
    net.blobs["x"].data[...] = 3
    for _ in range(2):
        assert net.forward()["sum"] == 21 * 7
        net.backward()
        np.testing.assert_array_equal(net.blobs["x"].diff, np.full((3, 7), 2))
