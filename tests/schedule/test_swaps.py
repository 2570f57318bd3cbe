import numpy as np
from hypothesis import given, settings

from geeps_caffe.schedule.lifetimes import Lifetime, lifetimes
from geeps_caffe.schedule.stays import Gap, gaps
from geeps_caffe.schedule.swaps import least_memory, plan_swaps, touched_bytes
from tests.schedule.random_programs import programs

LENGTH = 10


def lives(*found):
    """Storages as (name, bytes, touches); written at the first touch."""
    return {
        name: Lifetime(
            name,
            nbytes,
            tuple(touches),
            frozenset(touches[1:]),
            frozenset(touches[:1]),
            False,
            False,
        )
        for name, nbytes, touches in found
    }


def away(found, limit):
    """The storages that leave, and when they were last touched."""
    stays = plan_swaps(found, LENGTH, np.full(LENGTH, limit))
    return [(s.storage, s.end) for s in stays if s.save]


def resident_bytes(stays, length):
    load = np.zeros(length, np.int64)
    for stay in stays:
        load[np.arange(stay.start, stay.end + 1) % length] += stay.nbytes
    return load


def test_without_a_limit_nothing_leaves():
    found = lives(("a", 100, [0, 9]), ("b", 100, [1, 8]))
    assert not any(s.save or s.fetch for s in plan_swaps(found, LENGTH))


def test_what_fits_stays():
    assert away(lives(("a", 100, [0, 9]), ("b", 100, [1, 8])), 200) == []


def test_what_relieves_longest_leaves():
    found = lives(("a", 100, [0, 9]), ("b", 100, [1, 5]), ("c", 100, range(2, 8)))
    assert away(found, 200) == [("a", 0)]


def test_a_small_excess_does_not_move_a_large_storage():
    found = lives(("a", 1000, [0, 9]), ("b", 20, [0, 9]), ("c", 100, range(2, 8)))
    assert away(found, 1100) == [("b", 0)]


def test_what_others_made_room_for_stays():
    found = lives(
        ("small", 10, [0, 9]), ("large", 100, [1, 8]), ("c", 105, [4]), ("d", 15, [2])
    )
    # The small one relieves most for its bytes; but when the large one leaves, too,
    # there is room for it.
    assert away(found, 115) == [("large", 1)]


def test_a_gap_that_is_cut_is_taken_in_any_case():
    found = lives(("a", 100, [0, 1, 5]))
    cut = Gap("a", 100, 0, 1)
    stays = plan_swaps(found, LENGTH, np.full(LENGTH, 1000), [cut])
    assert [(s.start, s.end) for s in stays] == [(0, 0), (1, 5)]


def test_the_least_memory_is_what_one_instruction_touches():
    found = lives(("a", 100, [0, 9]), ("b", 50, [0, 4]), ("c", 120, [4]))
    assert list(touched_bytes(found, LENGTH)) == [150, 0, 0, 0, 170, 0, 0, 0, 0, 100]
    assert least_memory(found, LENGTH) == 170


def test_what_is_never_away_counts_everywhere():
    found = lives(("a", 100, [3]))
    found["input"] = Lifetime(
        "input", 7, (), frozenset(), frozenset(), True, True, fixed=True
    )
    assert least_memory(found, LENGTH) == 107
    assert touched_bytes(found, LENGTH)[0] == 7


@settings(max_examples=200, deadline=None)
@given(programs())
def test_any_limit_that_can_be_kept_is_kept(program):
    found, length = lifetimes(program), len(program.instructions)
    touched = touched_bytes(found, length)
    for limit in (touched, np.full(length, touched.max())):
        assert (resident_bytes(plan_swaps(found, length, limit), length) <= limit).all()


@settings(max_examples=100, deadline=None)
@given(programs())
def test_every_touch_is_within_exactly_one_stay(program):
    found, length = lifetimes(program), len(program.instructions)
    every = [gap for life in found.values() for gap in gaps(life, length)]
    for cuts in ((), every[::2], every):
        stays = plan_swaps(found, length, touched_bytes(found, length), cuts)
        for life in found.values():
            mine = [s for s in stays if s.storage == life.storage]
            at = [p % length for s in mine for p in range(s.start, s.end + 1)]
            assert len(set(at)) == len(at)
            assert set(life.touches) <= set(at)
