import pytest

from geeps_caffe.schedule.costs import Costs
from geeps_caffe.schedule.stays import Gap
from geeps_caffe.schedule.timeline import timeline

#: Three instructions of 1, 2 and 3 seconds, then the next step.
TIME = timeline(Costs((1.0, 2.0, 3.0), 10.0, 10.0))


def test_a_step_takes_as_long_as_its_instructions():
    assert TIME.step == 6
    assert list(TIME.starts) == [0, 1, 3, 6, 7, 9, 12]


@pytest.mark.parametrize(
    "after, before, seconds", [(0, 1, 0), (0, 2, 2), (1, 3, 3), (2, 4, 1), (-1, 3, 6)]
)
def test_a_gap_lasts_from_the_end_of_a_touch_to_the_next(after, before, seconds):
    assert TIME.window(Gap("a", 1, after, before)) == seconds


def test_a_copy_is_done_by_the_first_instruction_that_starts_late_enough():
    assert [TIME.done_by(0, s) for s in (0, 1.9, 2, 2.1, 5)] == [1, 2, 2, 3, 3]


def test_a_copy_begins_by_the_last_instruction_that_starts_early_enough():
    assert [TIME.begun_by(2, s) for s in (0, 1, 2, 2.5, 9)] == [2, 1, 1, 0, 0]
