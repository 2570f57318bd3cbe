import numpy as np
import pytest

from tests.layers.checks import check_backward_reads, check_gradient, run_layer

TEXT = """layer {{ name: "l" type: "ReLU" bottom: "a" top: "{top}"
           relu_param {{ negative_slope: {slope} }} }}"""


@pytest.fixture(params=[0.0, 0.1, -0.5], ids=["plain", "leaky", "folded"])
def slope(request):
    return request.param


@pytest.fixture(params=["b", "a"], ids=["apart", "in place"])
def text(request, slope):
    return TEXT.format(top=request.param, slope=slope)


def test_negative_values_are_scaled_by_the_slope(text, slope):
    (y,) = run_layer(text, [-2.0, 0.0, 3.0])
    np.testing.assert_allclose(y, [-2.0 * slope, 0.0, 3.0])


def test_gradient_is_that_of_differences(text, rng):
    x = rng.normal(size=(2, 3, 4))
    x[abs(x) < 0.01] = 0.5  # differences are wrong across the kink at 0
    check_gradient(text, {"a": x})


def test_backward_reads_what_it_declares(text, rng):
    check_backward_reads(text, {"a": rng.normal(size=(2, 3))})
