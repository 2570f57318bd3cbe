import numpy as np

from geeps_caffe.schedule.costs import Costs
from geeps_caffe.schedule.lifetimes import Lifetime
from geeps_caffe.schedule.placement import Aim, place_by_time
from geeps_caffe.schedule.reach import Problem
from geeps_caffe.schedule.timeline import timeline

LENGTH = 20


def life(name, nbytes, *touches):
    return Lifetime(
        name,
        nbytes,
        touches,
        frozenset(touches[1:]),
        frozenset(touches[:1]),
        False,
        False,
    )


AIM = Aim(1.0, 0.1)


def away(lives, limit, speed=4.0, aim=AIM, dear=None):
    """The storages that leave for a while."""
    time = timeline(Costs((1.0,) * LENGTH, speed, speed))
    problem = Problem({one.storage: one for one in lives}, LENGTH, time)
    limit = np.full(LENGTH, limit, np.int64)
    stays = place_by_time(problem, limit, aim, dear or {})
    return sorted({s.storage for s in stays if s.fetch})


SHORT = life("short", 8, 6, 12)  # copies of four seconds in a gap of five
LONG = life("long", 12, 0, 19)  # copies of six seconds in a gap of eighteen
NEEDED = life("needed", 8, 8)


def test_what_computing_hides_leaves_rather_than_what_is_small():
    assert away([SHORT, LONG, NEEDED], 20) == ["long"]


def test_without_a_word_for_time_the_fewer_bytes_leave():
    assert away([SHORT, LONG, NEEDED], 20, speed=1e9) == ["short"]


def test_what_stalled_before_is_dear():
    found = away([SHORT, LONG, NEEDED], 20, aim=Aim(0.0, 0.1), dear={"long": 100.0})
    assert found == ["short"]


def test_a_copy_that_fills_its_gap_relieves_nothing():
    # Two seconds each way leave the instruction after next of the five between.
    assert away([SHORT, NEEDED], 8, speed=4.0) == []
    assert away([SHORT, NEEDED], 8, speed=4.0, aim=Aim(0.0, 0.1)) == ["short"]


def test_where_all_fits_nothing_leaves():
    assert away([SHORT, LONG, NEEDED], 28) == []
