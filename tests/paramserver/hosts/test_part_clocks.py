import pytest

from geeps_caffe.errors import ParameterServerError
from geeps_caffe.paramserver import ASYNC, Scheme, Table
from geeps_caffe.paramserver.hosts.part_clocks import PartClocks


def clocks(slack):
    return PartClocks(Scheme((Table("w", 300, slack=slack),)), [2])


@pytest.mark.parametrize("slack", [0, 1, 3])
def test_a_source_may_be_ahead_by_the_slack(slack):
    found = clocks(slack)
    for clock in range(slack + 1):
        found.take(1, 0, clock, 0)
    found.applied[0][0] = 0
    found.take(1, 0, slack + 1, 0)


@pytest.mark.parametrize(
    ("slack", "clock"), [(0, 4), (0, 6), (0, -1), (2, 4), (2, 8), (ASYNC, 5)]
)
def test_a_clock_that_may_not_come_next_is_rejected(slack, clock):
    found = clocks(slack)
    if slack == ASYNC:
        found.take(1, 0, 5, 0)
    found.applied[0] = [4, 4]
    with pytest.raises(
        ParameterServerError,
        match=rf"'w': clock {clock} of source 1 does not follow clock [45]",
    ):
        found.take(1, 0, clock, 0)


def test_pieces_are_clocked_for_themselves():
    found = clocks(0)
    found.applied[0] = [4, 3]
    found.take(0, 0, 5, 0)
    found.take(0, 0, 4, 1)


def test_a_clock_without_an_update_comes_once_and_not_late():
    found = clocks(0)
    found.applied[0] = [4, 4]
    found.take_nothing(0, 0, 9, known=False)  # who uses no table waits for none
    for clock, known in ((4, False), (5, True)):
        with pytest.raises(ParameterServerError, match=f"clock {clock} of source 0"):
            found.take_nothing(0, 0, clock, known)


def test_of_a_table_that_all_compute_a_source_may_be_one_clock_further():
    """Another host has clock 4 and goes on, while a third one's is under way."""
    found = PartClocks(Scheme((Table("w", 300),)), [1], [True])
    found.applied[0] = [3]
    found.take(1, 0, 4, 0)
    found.take(1, 0, 5, 0)
    with pytest.raises(ParameterServerError, match="clock 6 of source 1"):
        found.take(1, 0, 6, 0)
