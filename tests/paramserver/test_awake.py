"""A clock that leaves out what its process slept through."""

from geeps_caffe.paramserver.awake import AwakeClock


def test_time_goes_on_between_calls_and_not_while_the_process_stands_still():
    times = iter([100.0, 101.0, 103.0, 903.0, 905.0])
    clock = AwakeClock(2.0, lambda: next(times))
    assert [clock() for _ in range(4)] == [101.0, 103.0, 103.0, 105.0]
