import pytest

from tests.cuda_src.rules import PENALTIES, check_rule


def numbers(h):
    return h.rate, h.rms_decay, 1 - h.rms_decay, h.delta


@pytest.mark.parametrize("penalty", PENALTIES)
def test_steps_are_those_of_the_solver(penalty, rng):
    """The kernel "rmsprop"."""
    check_rule("RMSProp", "rmsprop.cu", penalty, numbers, rng)
