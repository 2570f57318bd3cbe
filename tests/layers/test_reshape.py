import numpy as np
import pytest

from geeps_caffe.errors import LayerError
from tests.layers.checks import check_gradient, run_layer

TEXT = """layer {{ name: "l" type: "Reshape" bottom: "a" top: "b"
           reshape_param {{ {} }} }}"""


@pytest.mark.parametrize(
    ("param", "shape"),
    [
        ("shape { dim: 0 dim: -1 }", (2, 12)),
        ("shape { dim: -1 dim: 0 dim: 2 }", (4, 3, 2)),
        ("shape { dim: 4 dim: 6 }", (4, 6)),
        ("shape { dim: -1 } axis: 1 num_axes: 2", (2, 12)),
        ("shape { dim: 1 dim: 1 } axis: -1", (2, 3, 4, 1, 1)),
        ("shape { dim: 1 } axis: 0 num_axes: 0", (1, 2, 3, 4)),
        ("shape { } axis: 0 num_axes: 0", (2, 3, 4)),
        ("shape { dim: 2 dim: -1 } axis: -2 num_axes: 1", (2, 3, 2, 2)),
    ],
)
def test_axes_are_replaced(param, shape):
    x = np.arange(24.0).reshape(2, 3, 4)
    (y,) = run_layer(TEXT.format(param), x)
    np.testing.assert_array_equal(y, x.reshape(shape))


def test_gradient_is_that_of_differences(rng):
    text = TEXT.format("shape { dim: 3 dim: -1 }")
    check_gradient(text, {"a": rng.normal(size=(2, 3, 2))})


@pytest.mark.parametrize(
    ("param", "message"),
    [
        ("shape { dim: 5 dim: -1 }", "24 elements .* can't be divided .*5"),
        ("shape { dim: 5 }", "has 24 elements, the top of shape .5,. would have 5"),
        ("shape { dim: -1 dim: -1 }", "may hold one -1"),
        ("shape { dim: -2 }", "may hold one -1, and nothing below"),
        ("shape { dim: 0 dim: 0 dim: 0 dim: 0 }", "copies axis 3"),
        ("shape { dim: 1 } axis: 4", "axis 4 is outside"),
        ("shape { dim: 1 } axis: -5", "axis -5 is outside"),
        ("shape { dim: 1 } axis: 1 num_axes: 3", "axis 1 and num_axes 3 go beyond"),
        ("shape { dim: 1 } num_axes: -2", "num_axes -2 must be -1 or more"),
        ("shape { dim: -1 } pixelshuffler: 2", "pixelshuffler is not known"),
    ],
)
def test_shapes_that_do_not_fit_are_refused(param, message):
    with pytest.raises(LayerError, match=message):
        run_layer(TEXT.format(param), np.zeros((2, 3, 4)))
