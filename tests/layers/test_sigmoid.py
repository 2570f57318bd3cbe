import numpy as np
import pytest

from tests.layers.checks import check_backward_reads, check_gradient, run_layer


@pytest.fixture(params=["b", "a"], ids=["apart", "in place"])
def text(request):
    return f'layer {{ name: "l" type: "Sigmoid" bottom: "a" top: "{request.param}" }}'


def test_values_are_those_of_the_formula(text):
    x = np.array([-2.0, 0.0, 0.5, 3.0])
    np.testing.assert_allclose(run_layer(text, x)[0], 1 / (1 + np.exp(-x)))


def test_far_values_saturate(text):
    (y,) = run_layer(text, [-1e4, 1e4])
    np.testing.assert_allclose(y, [0, 1])


def test_gradient_and_reads(text, rng):
    inputs = {"a": rng.normal(size=(2, 3, 4))}
    check_gradient(text, inputs)
    check_backward_reads(text, inputs)
