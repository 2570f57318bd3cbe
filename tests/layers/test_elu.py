import numpy as np
import pytest

from tests.layers.checks import check_backward_reads, check_gradient, run_layer

TEXT = """layer {{ name: "l" type: "ELU" bottom: "a" top: "{top}"
           elu_param {{ alpha: {alpha} }} }}"""


@pytest.fixture(params=[0.0, 0.5, 2.0, -1.0])
def alpha(request):
    return request.param


@pytest.fixture(params=["b", "a"], ids=["apart", "in place"])
def text(request, alpha):
    return TEXT.format(top=request.param, alpha=alpha)


def test_negative_values_approach_minus_alpha(text, alpha):
    (y,) = run_layer(text, [-50.0, -1.0, 0.0, 3.0])
    np.testing.assert_allclose(y, [-alpha, alpha * (np.exp(-1) - 1), 0, 3])


def test_large_values_do_not_overflow(text):
    (y,) = run_layer(text, [1e4])
    assert y[0] == 1e4


def test_gradient_and_reads(text, rng):
    x = rng.normal(size=(2, 3, 4))
    x[abs(x) < 0.01] = 0.5  # differences are wrong across the kink at 0
    check_gradient(text, {"a": x})
    check_backward_reads(text, {"a": x})
