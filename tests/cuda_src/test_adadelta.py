import pytest

from tests.cuda_src.rules import PENALTIES, check_rule


def numbers(h):
    return h.rate, h.momentum, 1 - h.momentum, h.delta


@pytest.mark.parametrize("penalty", PENALTIES)
def test_steps_are_those_of_the_solver(penalty, rng):
    """The kernel "adadelta"."""
    check_rule("AdaDelta", "adadelta.cu", penalty, numbers, rng, momentum=0.95)
