from math import sqrt

import pytest

from tests.cuda_src.rules import PENALTIES, check_rule


def numbers(h):
    t = h.iteration + 1
    correction = sqrt(1 - h.momentum2**t) / (1 - h.momentum**t)
    fresh = (h.momentum, 1 - h.momentum, h.momentum2, 1 - h.momentum2)
    return h.rate * correction, *fresh, h.delta


@pytest.mark.parametrize("penalty", PENALTIES)
def test_steps_are_those_of_the_solver(penalty, rng):
    """The kernel "adam"."""
    check_rule("Adam", "adam.cu", penalty, numbers, rng, momentum=0.9)
