import numpy as np
import pytest

from geeps_caffe.errors import LayerError
from tests.layers.checks import check_backward_reads, check_gradient, run_layer

TEXT = """layer {{ name: "l" type: "Reduction" bottom: "a" top: "b"
           reduction_param {{ operation: {} axis: {} coeff: 2 }} }}"""
KINDS = ["SUM", "ASUM", "SUMSQ", "MEAN"]


@pytest.mark.parametrize(
    ("kind", "expected"),
    list(zip(KINDS, [[-4, 10], [8, 10], [20, 26], [-2, 5]], strict=True)),
)
def test_rows_become_numbers(kind, expected):
    (y,) = run_layer(TEXT.format(kind, 1), [[1.0, -3.0], [2.0, 3.0]])
    np.testing.assert_array_equal(y, expected)


def test_all_axes_become_one_number():
    (y,) = run_layer(TEXT.format("SUM", 0), np.ones((2, 3)))
    assert y.shape == ()
    assert y == 12


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("kind", KINDS)
def test_gradient_is_that_of_differences(kind, axis, rng):
    x = rng.normal(size=(2, 3, 4))
    x[abs(x) < 0.01] = 0.5
    check_gradient(TEXT.format(kind, axis), {"a": x})


@pytest.mark.parametrize("kind", KINDS)
def test_backward_reads_what_it_declares(kind, rng):
    check_backward_reads(TEXT.format(kind, 1), {"a": rng.normal(size=(2, 3))})


def test_an_axis_that_is_not_there_is_refused():
    with pytest.raises(LayerError, match="axis 2 is outside of the bottom's 2 axes"):
        run_layer(TEXT.format("SUM", 2), np.zeros((2, 3)))
