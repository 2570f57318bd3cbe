import numpy as np
import pytest

from tests.layers.checks import check_backward_reads, check_gradient, run_layer


@pytest.fixture(params=["b", "a"], ids=["apart", "in place"])
def text(request):
    return f'layer {{ name: "l" type: "BNLL" bottom: "a" top: "{request.param}" }}'


def test_large_values_stay_and_small_ones_vanish_without_overflow(text):
    (y,) = run_layer(text, [-1000.0, 0.0, 1000.0])
    np.testing.assert_allclose(y, [0, np.log(2), 1000])


def test_gradient_is_that_of_differences(text, rng):
    check_gradient(text, {"a": 3 * rng.normal(size=(2, 5))})


def test_backward_reads_what_it_declares(text, rng):
    check_backward_reads(text, {"a": rng.normal(size=(2, 3))})
