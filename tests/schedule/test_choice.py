import numpy as np

from geeps_caffe.schedule.choice import Candidates, Choice, by_storage, load_of
from geeps_caffe.schedule.stays import Gap, Residency

LENGTH = 6


def choice(prices, load=(10, 10, 10, 10, 10, 10), forced=()):
    """Gaps a, b, ... of 4 bytes, from 1 to before 4 each."""
    gaps = [Gap(name, 4, 0, 4) for name in "abc"[: len(prices)]]
    first, end = np.full(len(gaps), 1), np.full(len(gaps), 4)
    found = Candidates(gaps, first, end, np.array(prices, float))
    return Choice(found, LENGTH, np.array(load), [gaps[i] for i in forced])


def names(found):
    return [gap.storage for gap in found.taken()]


def test_the_cheapest_gap_is_taken_first():
    found = choice([3, 1, 2])
    found.leave(np.full(LENGTH, 7))
    assert names(found) == ["b"]


def test_gaps_are_taken_until_the_limit_is_kept_where_any_relieves():
    found = choice([3, 1, 2])
    found.leave(np.array([5, 3, 3, 3, 5, 5]))
    assert names(found) == ["b", "c"]


def test_what_left_in_vain_stays():
    found = choice([3, 1, 2], forced=[0])
    found.leave(np.full(LENGTH, 4))
    found.stay(np.array([10, 6, 6, 6, 10, 10]))
    assert names(found) == ["a"]


def test_gaps_are_told_by_storage():
    gap = Gap("a", 4, 0, 4)
    assert by_storage([gap], ["a", "b"]) == {"a": [gap], "b": []}


def test_the_load_counts_what_reaches_into_the_next_step():
    stays = [Residency("a", 4, 1, 2), Residency("b", 3, 5, LENGTH + 1)]
    assert list(load_of(stays, LENGTH)) == [3, 7, 4, 0, 0, 3]
