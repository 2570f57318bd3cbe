"""Offsets within a budget, around tables that are pinned."""

import random

import pytest

from geeps_caffe.config.param_cache import ParamCache
from geeps_caffe.errors import BudgetError
from geeps_caffe.schedule.check import check_plan
from geeps_caffe.schedule.fit import fit, least_budget, rounded
from geeps_caffe.schedule.lifetimes import Lifetime
from geeps_caffe.schedule.plan import least_of, make_plan
from geeps_caffe.schedule.swaps import least_memory
from tests.schedule.nets import LENET, graph_of, program_of


def life(name, nbytes, touches, pinned=False):
    """A storage; a pinned one is a lease that is read alone."""
    return Lifetime(
        name,
        nbytes,
        tuple(touches),
        frozenset(touches if pinned else touches[1:]),
        frozenset(() if pinned else touches[:1]),
        False,
        False,
        from_host=pinned,
        pinned=pinned,
    )


def random_lives(number, nested=False):
    """Storages at random times, half of them pinned, and the number of instructions.

    `nested`: what is pinned is used in forward and, in reverse order, in backward.
    """
    chance = random.Random(number)
    length, found = chance.randint(4, 24), {}
    for i in range(chance.randint(1, 14)):
        touches = sorted(chance.sample(range(length), chance.randint(1, 4)))
        nbytes = int(2 ** chance.uniform(5, 13))
        pinned = chance.random() < 0.5
        if pinned and nested:
            first = chance.randrange(length // 2)
            touches = [first, length - 1 - first]
        found[f"s{i}"] = life(f"s{i}", nbytes, touches, pinned)
    return rounded(found), length


def times(stay):
    return set(range(stay.start, stay.end + 1))  # nothing lasts into the next step


def check_places(lives, length, budget):
    """All touches are placed, nothing overlaps, and what is pinned is never away."""
    placed, size = fit(lives, length, budget)
    assert size <= budget
    for i, one in enumerate(placed):
        for other in placed[:i]:
            apart = one.end <= other.offset or other.end <= one.offset
            assert apart or not times(one.stay) & times(other.stay)
    for name, entry in lives.items():
        mine = [p.stay for p in placed if p.stay.storage == name]
        assert set(entry.touches) <= {t for stay in mine for t in times(stay)}
        assert len(mine) == 1 or not entry.pinned


def test_what_is_pinned_counts_between_its_touches():
    lives = rounded(
        {
            "w": life("w", 640, [0, 9], pinned=True),
            "a": life("a", 128, [1, 8]),
            "b": life("b", 256, [4]),
        }
    )
    assert least_budget(lives, 10) == 640 + 256
    check_places(lives, 10, 640 + 256)


@pytest.mark.parametrize("number", range(100))
def test_what_is_pinned_as_nets_do_needs_no_more_than_the_largest_instruction(number):
    lives, length = random_lives(number, nested=True)
    assert least_budget(lives, length) == least_memory(lives, length)
    check_places(lives, length, least_memory(lives, length))


def test_where_what_is_pinned_leaves_holes_a_budget_that_does_is_told():
    refused = 0
    for number in range(1000):
        lives, length = random_lives(number)
        check_places(lives, length, least_budget(lives, length))
        least = least_memory(lives, length)
        try:
            check_places(lives, length, least)
        except BudgetError as error:
            refused += 1
            assert error.least == least_budget(lives, length) > least
            assert "tables that are pinned leave holes" in str(error)
    assert refused > 0


def test_a_net_is_planned_with_the_least_budget_that_it_tells():
    for tables in ((), (("ip1", "swapped"),), (("conv2", "swapped"),)):
        cache = ParamCache("pinned", tables)
        program = program_of(graph_of(LENET), param_cache=cache)
        least = least_of(program)
        with pytest.raises(BudgetError) as error:
            make_plan(program, 64)
        assert error.value.least == least
        plan = make_plan(program, least)
        assert plan.least_bytes == least >= plan.arena_bytes
        assert check_plan(plan) == []
