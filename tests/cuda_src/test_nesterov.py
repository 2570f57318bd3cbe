import pytest

from tests.cuda_src.rules import PENALTIES, check_rule


@pytest.mark.parametrize("penalty", PENALTIES)
def test_steps_are_those_of_the_solver(penalty, rng):
    """The kernel "nesterov"."""
    check_rule(
        "Nesterov",
        "nesterov.cu",
        penalty,
        lambda h: (h.rate, h.momentum, 1 + h.momentum),
        rng,
        momentum=0.9,
    )
