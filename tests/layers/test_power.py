import numpy as np
import pytest

from tests.layers.checks import check_backward_reads, check_gradient, run_layer

TEXT = 'layer {{ name: "l" type: "Power" bottom: "a" top: "{}" power_param {{ {} }} }}'
PARAMS = [
    "",
    "scale: -1.5 shift: 2",
    "power: 2 scale: 0.5 shift: 1",
    "power: -0.5 scale: 2 shift: 3",
    "power: 0 shift: 2",
    "power: 3 scale: 0 shift: 1.5",
]


@pytest.fixture(params=["b", "a"], ids=["apart", "in place"])
def top(request):
    return request.param


@pytest.mark.parametrize(
    ("param", "expected"), list(zip(PARAMS, [2, -1, 4, 7**-0.5, 1, 3.375], strict=True))
)
def test_powers_of_the_line(top, param, expected):
    (y,) = run_layer(TEXT.format(top, param), [2.0])
    np.testing.assert_allclose(y, [expected])


@pytest.mark.parametrize("param", PARAMS)
def test_gradient_is_that_of_differences(top, param, rng):
    check_gradient(TEXT.format(top, param), {"a": rng.uniform(0.5, 2, size=(2, 3))})


@pytest.mark.parametrize("param", PARAMS)
def test_backward_reads_what_it_declares(top, param, rng):
    check_backward_reads(TEXT.format(top, param), {"a": rng.uniform(1, 2, size=(2, 3))})


def test_the_gradient_of_a_cube_at_0_is_0():
    check_gradient(TEXT.format("b", "power: 3"), {"a": np.zeros(2)})
