import pytest

from tests.cuda_src.rules import PENALTIES, check_rule


@pytest.mark.parametrize("penalty", PENALTIES)
def test_steps_are_those_of_the_solver(penalty, rng):
    """The kernel "adagrad"."""
    check_rule("AdaGrad", "adagrad.cu", penalty, lambda h: (h.rate, h.delta), rng)
