import io

from geeps_caffe.commands.progress import Progress, duration
from geeps_caffe.glog import Log, LogSettings


class Terminal(io.StringIO):
    def isatty(self):
        return True


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def shown_after(stream, moments):
    """What a stream shows; moments are (seconds, iteration)."""
    clock = Clock()
    progress = Progress(Log(LogSettings(only_stderr=True), stream), 100, clock)
    for clock.now, iteration in moments:
        progress.update(iteration)
    shown = stream.getvalue()
    progress.finish()
    return shown


def test_a_terminal_shows_iteration_rate_and_time_left():
    shown = shown_after(Terminal(), [(0.0, 0), (10.0, 50)])
    assert shown.endswith("[##########          ] 50/100  5.0 iter/s  0:10 left")


def test_the_line_changes_a_few_times_a_second():
    moments = [(0.0, 0), (1.0, 1), (1.05, 2), (1.1, 3)]
    assert shown_after(Terminal(), moments).count("\r") == 2


def test_a_pipe_shows_nothing():
    assert shown_after(io.StringIO(), [(0.0, 0), (10.0, 50)]) == ""


def test_durations():
    assert [duration(s) for s in (0, 61, 3600)] == ["0:00", "1:01", "1:00:00"]
