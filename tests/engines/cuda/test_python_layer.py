"""Python layers on a GPU: with copies for NumPy, or on its own arrays."""

import numpy as np
import pytest

from geeps_caffe.caffe import TRAIN, Net
from geeps_caffe.schedule.instructions import Compute
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


@pytest.mark.usefixtures("double")
def test_what_lies_in_a_top_before_is_not_fetched(tmp_path):
    """Within a budget it may be of an array that has been swapped out."""
    module = MODULE.replace(
        "assert on_device == self.on_device", "assert not top[0].data.any()"
    )
    (tmp_path / "own_layers.py").write_text(module)
    (tmp_path / "net.prototxt").write_text(NET.replace("KIND", "OnHost"))
    net = Net(str(tmp_path / "net.prototxt"), TRAIN, engine="cuda")
    net.blobs["x"].data[...] = 3
    for _ in range(2):
        assert net.forward()["sum"] == 21 * 7


NOTING = """
from geeps_caffe import caffe

class Noting(caffe.Layer):
    on_device = True
    seen = {}
    def setup(self, bottom, top):
        self.blobs.add_blob(7)
    def reshape(self, bottom, top):
        top[0].reshape(*bottom[0].shape)
    def forward(self, bottom, top):
        data = {"bottom0": bottom[0].data, "top0": top[0].data}
        self.note("forward", data | {"param0": self.blobs[0].data})
        top[0].data[...] = bottom[0].data + self.blobs[0].data
    def backward(self, top, propagate_down, bottom):
        diffs = {"bottom0.diff": bottom[0].diff, "top0.diff": top[0].diff}
        self.note("backward", diffs | {"param0.diff": self.blobs[0].diff})
        bottom[0].diff[...] = top[0].diff
        self.blobs[0].diff[...] = top[0].diff.sum(axis=0)
    def note(self, direction, arrays):
        for port, array in arrays.items():
            place = array.__cuda_array_interface__["data"][0]
            self.seen[direction, port] = place
"""


@pytest.mark.usefixtures("double")
def test_arrays_on_the_device_are_the_blobs_own_memory(tmp_path):
    """Not copies: the addresses are those in the plan's arena."""
    (tmp_path / "noting.py").write_text(NOTING)
    text = NET.replace("KIND", "Noting").replace("own_layers", "noting")
    (tmp_path / "net.prototxt").write_text(text)
    net = Net(str(tmp_path / "net.prototxt"), TRAIN, engine="cuda")
    net.forward()
    net.backward()
    executor = net._net.executor
    instructions = executor.plan.instructions
    (own,) = (n for n in executor.graph.nodes if n.type == "Python")
    assert len(own.layer.user.seen) == 6
    for (direction, port), found in own.layer.user.seen.items():
        ((position, entry),) = (
            (i, entry)
            for i, entry in enumerate(instructions)
            if isinstance(entry, Compute)
            and (entry.node, entry.direction) == (own.index, direction)
        )
        planned = executor.memory.view(dict(entry.ports)[port], position)
        assert planned.data.ptr == found, port
    np.testing.assert_array_equal(net.blobs["x"].diff, np.ones((3, 7)))


@pytest.mark.usefixtures("double")
def test_lent_gradients_are_given_back(tmp_path):
    """What a layer writes into a diff in forward does not reach the plan's memory."""
    (tmp_path / "scribbling.py").write_text(
        MODULE.replace("class OnDevice(OnHost):", "class Scribbling(OnHost):")
        + """
    def forward(self, bottom, top):
        top[0].diff[...] = 5
        OnHost.forward(self, bottom, top)
"""
    )
    text = NET.replace("KIND", "Scribbling").replace("own_layers", "scribbling")
    (tmp_path / "net.prototxt").write_text(text)
    net = Net(str(tmp_path / "net.prototxt"), TRAIN, engine="cuda")
    for _ in range(2):
        net.forward()
        net.backward()
    diff = net._net.executor.plain("y.diff")
    net.forward()
    np.testing.assert_array_equal(net._net.executor.plain("y.diff"), diff)
