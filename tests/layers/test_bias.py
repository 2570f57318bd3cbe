import numpy as np
import pytest

from geeps_caffe.errors import LayerError
from tests.layers.checks import check_backward_reads, check_gradient, run_layer

TEXT = 'layer {{ name: "l" type: "Bias" {} top: "{}" bias_param {{ {} }} }}'
ONE, TWO = 'bottom: "a"', 'bottom: "a" bottom: "b"'


@pytest.fixture(params=["c", "a"], ids=["apart", "in place"])
def top(request):
    return request.param


def test_channels_are_shifted(top):
    text = TEXT.format(ONE, top, "")
    (y,) = run_layer(text, [[1.0, 2.0], [3.0, 4.0]], params=[[10, 20]])
    np.testing.assert_array_equal(y, [[11, 22], [13, 24]])


def test_the_bias_may_be_a_bottom(top):
    (y,) = run_layer(TEXT.format(TWO, top, "axis: 0"), [[1.0], [3.0]], [10.0, 20.0])
    np.testing.assert_array_equal(y, [[11], [23]])


@pytest.mark.parametrize(
    ("param", "shape"),
    [("", (3,)), ("axis: 0 num_axes: -1", (2, 3, 4)), ("num_axes: 0", ())],
)
def test_gradients_are_those_of_differences(top, param, shape, rng):
    x = rng.normal(size=(2, 3, 4))
    check_gradient(TEXT.format(ONE, top, param), {"a": x})
    check_gradient(TEXT.format(TWO, top, param), {"a": x, "b": rng.normal(size=shape)})


def test_backward_reads_what_it_declares(top, rng):
    x, bias = rng.normal(size=(2, 3)), rng.normal(size=3)
    check_backward_reads(TEXT.format(ONE, top, ""), {"a": x})
    check_backward_reads(TEXT.format(TWO, top, ""), {"a": x, "b": bias})


def test_a_bottom_that_does_not_fit_is_refused():
    with pytest.raises(LayerError, match=r"'l' .Bias.: bottom.1. of shape .4,. do"):
        run_layer(TEXT.format(TWO, "c", ""), np.zeros((2, 3)), np.zeros(4))
