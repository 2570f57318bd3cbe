import numpy as np
import pytest

from tests.layers.checks import check_backward_reads, check_gradient, run_layer

TEXT = """layer {{ name: "l" type: "Swish" bottom: "a" top: "{}"
           swish_param {{ beta: {} }} }}"""


@pytest.fixture(params=["b", "a"], ids=["apart", "in place"])
def top(request):
    return request.param


def test_values_pass_as_far_as_the_sigmoid_lets_them(top):
    (y,) = run_layer(TEXT.format(top, 2), [0.0, 0.5, -1000.0, 1000.0])
    np.testing.assert_allclose(y, [0, 0.5 / (1 + np.exp(-1)), 0, 1000])


@pytest.mark.parametrize("beta", [0, 1, -1.5])
def test_gradient_is_that_of_differences(top, beta, rng):
    check_gradient(TEXT.format(top, beta), {"a": rng.normal(size=(2, 3))})


def test_backward_reads_what_it_declares(top, rng):
    check_backward_reads(TEXT.format(top, 1.5), {"a": rng.normal(size=(2, 3))})
