"""The user's layers are made here, in this module, instead of being imported."""

import sys

import numpy as np
import pytest

from geeps_caffe.errors import LayerError
from geeps_caffe.layers.fillers import fill
from geeps_caffe.layers.python_class import PythonLayer
from tests.layers.checks import check_backward_reads, check_gradient, run_net

TEXT = """layer {{ name: "l" type: "Python" {} python_param {{
           module: "{}" layer: "{}" param_str: "{}" }} }}"""


@pytest.fixture(autouse=True)
def user_layers(monkeypatch):
    """This module under a name that nets can give."""
    monkeypatch.setitem(sys.modules, "user_layers", sys.modules[__name__])


def _text(cls, blobs='bottom: "a" top: "b"', param=""):
    return TEXT.format(blobs, "user_layers", cls.__name__, param)


class Times(PythonLayer):
    """top = param_str * bottom."""

    def setup(self, bottom, top):
        self.factor = float(self.param_str)

    def reshape(self, bottom, top):
        top[0].reshape(*bottom[0].data.shape)

    def forward(self, bottom, top):
        top[0].data[...] = self.factor * bottom[0].data

    def backward(self, top, propagate_down, bottom):
        if propagate_down[0]:
            bottom[0].diff[...] = self.factor * top[0].diff


class Older(Times):
    """The same, as it was written for Caffe of early 2015."""

    def setup(self, bottom, top):
        self.factor = float(self.param_str_)


class Affine(PythonLayer):
    """top = bottom * weight + shift, with gradients added to as in Caffe."""

    def setup(self, bottom, top):
        self.blobs.add_blob(bottom[0].channels)
        self.blobs.add_blob(1)
        self.blobs[0].data[...] = np.arange(bottom[0].channels)

    def reshape(self, bottom, top):
        top[0].reshape(*bottom[0].shape)

    def forward(self, bottom, top):
        weight, shift = self.blobs
        top[0].data[...] = bottom[0].data * weight.data + shift.data

    def backward(self, top, propagate_down, bottom):
        self.blobs[0].diff[...] += (top[0].diff * bottom[0].data).sum(axis=0)
        self.blobs[1].diff[...] += top[0].diff.sum()
        bottom[0].diff[...] = top[0].diff * self.blobs[0].data


class Positive(PythonLayer):
    """The rows whose first element is positive, repeated as often as it says."""

    reshapes = 0

    def reshape(self, bottom, top):
        self.reshapes += 1
        top[0].reshape(1, *bottom[0].data.shape[1:])

    def forward(self, bottom, top):
        x = bottom[0].data
        rows = np.repeat(x, np.maximum(x[:, 0], 0).astype(int), axis=0)
        top[0].reshape(*rows.shape)
        top[0].data[...] = rows


class Ramp(PythonLayer):
    """A source whose batches have 1, 2, 3, ... rows."""

    def setup(self, bottom, top):
        self.rows = 0

    def reshape(self, bottom, top):
        self.next = self.rows + 1
        top[0].reshape(self.next, 2)

    def forward(self, bottom, top):
        self.rows = self.next
        top[0].data[...] = self.rows


class Early(PythonLayer):
    """A loss that puts the gradient into its bottom during forward."""

    def reshape(self, bottom, top):
        top[0].reshape(1)

    def forward(self, bottom, top):
        bottom[0].diff[...] = 2 * bottom[0].data
        top[0].data[...] = (bottom[0].data ** 2).sum()

    def backward(self, top, propagate_down, bottom):
        pass


class Broken(PythonLayer):
    def reshape(self, bottom, top):
        raise ValueError("no")


def test_forward_and_backward_are_the_user_s(rng):
    inputs = {"a": rng.normal(size=(2, 3))}
    net = check_gradient(_text(Times, param="2.5"), inputs)
    np.testing.assert_allclose(net.data["b"], 2.5 * net.data["a"])
    check_backward_reads(_text(Times, param="2.5"), inputs)


def test_layers_of_older_caffes_find_their_param_str():
    net = run_net(_text(Older, param="3"), {"a": [[1.0, 2.0]]})
    np.testing.assert_array_equal(net.data["b"], [[3, 6]])


def test_blobs_are_learnt_and_start_as_setup_says(rng):
    net = check_gradient(_text(Affine), {"a": rng.normal(size=(2, 3))})
    specs = net.layers[-1].param_specs([(2, 3)])
    assert [spec.shape for spec in specs] == [(3,), (1,)]
    values = np.empty(3, np.float32)
    fill(values, specs[0].filler, rng)
    np.testing.assert_array_equal(values, [0, 1, 2])


def test_gradients_are_those_of_one_backward(rng):
    net = run_net(_text(Affine), {"a": np.ones((2, 3))})
    for _ in range(2):
        net.backward({"b": np.ones((2, 3))})
        np.testing.assert_array_equal(net.params["l"][1].diff, [6])


@pytest.mark.parametrize("counts", [[0, 1, 0], [2, 3, 1]], ids=["shrinks", "grows"])
def test_tops_take_the_shape_of_the_batch(counts):
    x = np.array([[count, 10.0 * count] for count in counts])
    net = run_net(_text(Positive), {"a": x})
    np.testing.assert_array_equal(net.data["b"], np.repeat(x, counts, axis=0))


def test_reshape_is_called_once_before_each_forward():
    net = run_net(_text(Positive), {"a": [[3.0], [1.0]]})
    user = net.layers[-1].user
    before = user.reshapes
    net.forward(a=[[1.0], [0.0]])
    assert user.reshapes == before + 1


def test_the_bound_is_the_most_that_a_top_has_had():
    net = run_net(_text(Positive), {"a": [[3.0], [1.0]]})
    net.forward(a=[[1.0], [0.0]])
    layer = net.layers[-1]
    assert net.data["b"].shape == (1, 1)
    assert layer.infer_shapes([(2, 1)]) == [(4, 1)]
    assert layer.infer_shapes([(5, 2)]) == [(1, 2)]


def test_a_layer_without_bottoms_is_a_source():
    net = run_net(_text(Ramp, 'top: "b"'))
    assert net.layers[-1].is_source
    for rows in (2, 3):
        net.forward()
        np.testing.assert_array_equal(net.data["b"], np.full((rows, 2), rows))


class Growing(PythonLayer):
    """A source whose forward gives its tops 1, 2, 3, ... rows."""

    rows = 0

    def reshape(self, bottom, top):
        if not self.rows:
            top[0].reshape(8, 2)

    def forward(self, bottom, top):
        self.rows += 1
        top[0].reshape(self.rows, 2)
        top[0].data[...] = self.rows


class OnDevice(Growing):
    on_device = True


def test_a_source_may_reshape_in_forward():
    net = run_net(_text(Growing, 'top: "b"'))
    for rows in (2, 3):
        net.forward()
        np.testing.assert_array_equal(net.data["b"], np.full((rows, 2), rows))


def test_a_source_on_a_device_reshapes_before_its_forward():
    with pytest.raises(LayerError, match=r"to \[\(1, 2\)\], but .* at \[\(8, 2\)\]"):
        run_net(_text(OnDevice, 'top: "b"'))


def test_a_diff_may_be_written_in_forward():
    net = run_net(_text(Early) + " ", {"a": [[1.0, 3.0]]})
    net.backward()
    np.testing.assert_array_equal(net.diff["a"], [[2, 6]])


def test_errors_of_the_user_s_keep_their_trace_and_name_the_layer():
    with pytest.raises(ValueError, match="no") as caught:
        run_net(_text(Broken), {"a": [1.0]})
    assert caught.value.__notes__ == ["in reshape of layer 'l' (Python)"]
    assert caught.traceback[-1].name == "reshape"
