"""Which hand-overs get an event."""

import pytest

from geeps_caffe.device.events import Span, Step, find_hand_overs


def at(start, stop=None):
    return (Span("arena", start, stop or start + 8),)


def test_a_reader_waits_for_the_writer_of_another_queue():
    steps = [Step("copy-in", writes=at(0)), Step("compute", reads=at(0))]
    assert find_hand_overs(steps)[1] == (0,)


def test_steps_of_one_queue_need_no_event():
    steps = [Step("compute", writes=at(0)), Step("compute", reads=at(0))]
    assert find_hand_overs(steps) == {}


def test_two_readers_need_no_event():
    steps = [Step("compute", reads=at(0)), Step("copy-out", reads=at(0))]
    assert find_hand_overs(steps) == {}


def test_a_place_is_overwritten_only_after_its_reader():
    """And in the next iteration the first step waits for the last of this one."""
    steps = [Step("copy-out", reads=at(0, 16)), Step("copy-in", writes=at(8))]
    assert find_hand_overs(steps) == {0: (1,), 1: (0,)}


def test_a_wait_that_follows_from_another_is_left_out():
    steps = [
        Step("copy-in", writes=at(0)),
        Step("copy-in", writes=at(8)),
        Step("compute", reads=at(8)),
        Step("compute", reads=at(0)),
    ]
    assert find_hand_overs(steps)[2] == (1,)
    assert 3 not in find_hand_overs(steps)


def test_what_a_queue_learned_is_passed_on_by_its_events():
    steps = [
        Step("copy-in", writes=at(0)),
        Step("compute", reads=at(0), writes=at(8)),
        Step("copy-out", reads=(*at(8), *at(0))),
    ]
    assert find_hand_overs(steps)[2] == (1,)


@pytest.mark.parametrize("other", ["host", "table"])
def test_memories_do_not_overlap(other):
    steps = [
        Step("copy-in", writes=at(0)),
        Step("compute", reads=(Span(other, 0, 8),)),
    ]
    assert find_hand_overs(steps) == {}
