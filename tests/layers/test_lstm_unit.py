import numpy as np
import pytest

from geeps_caffe.errors import LayerError
from tests.layers.checks import check_backward_reads, check_gradient, run_layer, run_net

TEXT = """layer { name: "l" type: "LSTMUnit" bottom: "a" bottom: "b" bottom: "c"
          top: "d" top: "e" }"""


def _sigmoid(x):
    return 1 / (1 + np.exp(-x))


def _inputs(rng, cont=(1.0, 0.0, 1.0)):
    return {
        "a": rng.normal(size=(1, 3, 2)),
        "b": rng.normal(size=(1, 3, 8)),
        "c": np.array([cont]),
    }


def test_one_cell_by_hand():
    c, h = run_layer(TEXT, [[[2.0]]], [[[0.1, 0.2, 0.3, 0.4]]], [[1.0]])
    cell = _sigmoid(0.2) * 2 + _sigmoid(0.1) * np.tanh(0.4)
    np.testing.assert_allclose(c, [[[cell]]])
    np.testing.assert_allclose(h, [[[_sigmoid(0.3) * np.tanh(cell)]]])


def test_where_a_sequence_starts_the_cell_before_is_forgotten():
    c, _ = run_layer(TEXT, [[[2.0]]], [[[0.1, 0.2, 0.3, 0.4]]], [[0.0]])
    np.testing.assert_allclose(c, [[[_sigmoid(0.1) * np.tanh(0.4)]]])


def test_gradient_is_that_of_differences(rng):
    check_gradient(TEXT, _inputs(rng))


def test_the_slope_of_the_forget_gate_holds_cont_as_in_caffe(rng):
    inputs = _inputs(rng, (0.5, 0.5, 0.5))
    net = run_net(TEXT, inputs)
    net.backward({"d": np.ones((1, 3, 2)), "e": np.zeros((1, 3, 2))})
    f = 0.5 * _sigmoid(inputs["b"][0, :, 2:4])
    expected = inputs["a"][0] * f * (1 - f)
    np.testing.assert_allclose(net.diff["b"][0, :, 2:4], expected)


def test_backward_reads_what_it_declares(rng):
    check_backward_reads(TEXT, _inputs(rng))


@pytest.mark.parametrize(
    "shapes",
    [
        [(3, 2), (1, 3, 8), (1, 3)],
        [(1, 3, 2), (1, 3, 6), (1, 3)],
        [(1, 3, 2), (1, 3, 8), (1, 4)],
        [(2, 3, 2), (2, 3, 8), (2, 3)],
    ],
)
def test_shapes_that_do_not_fit_are_refused(shapes):
    with pytest.raises(LayerError, match=r"expected .1, N, H., .1, N, 4 H. and .1, N."):
        run_layer(TEXT, *(np.zeros(shape) for shape in shapes))
