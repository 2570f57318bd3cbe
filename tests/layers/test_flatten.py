import numpy as np
import pytest

from geeps_caffe.errors import LayerError
from tests.layers.checks import check_gradient, run_layer

TEXT = """layer {{ name: "l" type: "Flatten" bottom: "a" top: "b"
           flatten_param {{ {} }} }}"""


@pytest.mark.parametrize(
    ("param", "shape"),
    [
        ("", (2, 60)),
        ("axis: 0", (120,)),
        ("axis: 2 end_axis: 2", (2, 3, 4, 5)),
        ("axis: -3 end_axis: -2", (2, 12, 5)),
    ],
)
def test_axes_become_one(param, shape):
    x = np.arange(120.0).reshape(2, 3, 4, 5)
    (y,) = run_layer(TEXT.format(param), x)
    np.testing.assert_array_equal(y, x.reshape(shape))


def test_gradient_is_that_of_differences(rng):
    check_gradient(TEXT.format(""), {"a": rng.normal(size=(2, 3, 2))})


@pytest.mark.parametrize(
    ("param", "message"),
    [
        ("axis: 4", "flatten_param axis 4 is outside of the bottom's 2 axes"),
        ("end_axis: -3", "flatten_param end_axis -3 is outside"),
        ("axis: 1 end_axis: 0", "axis 1 comes after end_axis 0"),
    ],
)
def test_axes_that_are_not_there_are_refused(param, message):
    with pytest.raises(LayerError, match=message):
        run_layer(TEXT.format(param), np.zeros((2, 3)))
