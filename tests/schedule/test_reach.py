from geeps_caffe.schedule.costs import Costs
from geeps_caffe.schedule.lifetimes import Lifetime
from geeps_caffe.schedule.reach import Problem, reaching
from geeps_caffe.schedule.stays import Residency
from geeps_caffe.schedule.timeline import timeline

LENGTH = 10
#: A second each; a byte takes a second to copy.
TIME = timeline(Costs((1.0,) * LENGTH, 1.0, 1.0))


def spans(*stays, share=1.0, ready=0):
    """(start, end) with room for copies, by storage."""
    lives = {
        s.storage: Lifetime(
            s.storage, s.nbytes, (), frozenset(), frozenset(), False, False, ready=ready
        )
        for s in stays
    }
    found = reaching(stays, Problem(lives, LENGTH, TIME), share)
    for before, after in zip(stays, found, strict=True):
        assert (after.first_touch, after.last_touch) == (before.start, before.end)
    return [(s.start, s.end) for s in found]


def test_a_stay_begins_so_early_that_its_copy_is_done():
    assert spans(Residency("a", 3, 6, 7, fetch=True)) == [(3, 7)]


def test_a_stay_ends_so_late_that_its_copy_is_done():
    assert spans(Residency("a", 3, 2, 4, save=True)) == [(2, 7)]


def test_copies_of_one_direction_wait_for_each_other():
    first = Residency("a", 2, 0, 1, save=True)
    second = Residency("b", 2, 2, 2, save=True)
    assert spans(first, second) == [(0, 3), (2, 5)]
    late = Residency("a", 2, 6, 6, fetch=True)
    later = Residency("b", 2, 7, 7, fetch=True)
    assert spans(late, later) == [(3, 6), (5, 7)]


def test_room_may_be_made_for_a_share_of_the_time():
    stay = Residency("a", 4, 6, 6, fetch=True)
    assert spans(stay, share=0.5) == [(4, 6)]
    assert spans(stay, share=0) == [(6, 6)]


def test_no_copy_begins_before_its_values_are_there():
    assert spans(Residency("a", 9, 6, 6, fetch=True), ready=4) == [(4, 6)]


def test_a_stay_ends_with_the_step_at_the_latest():
    assert spans(Residency("a", 9, 6, 7, save=True)) == [(6, LENGTH - 1)]
