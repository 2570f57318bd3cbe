import signal

import pytest

from geeps_caffe.commands.signals import listen
from geeps_caffe.execution.trainer import SNAPSHOT, STOP

CASES = [
    (signal.SIGINT, STOP),
    (signal.SIGHUP, SNAPSHOT),
    (signal.SIGTERM, STOP | SNAPSHOT),
]


@pytest.mark.parametrize(("number", "flags"), CASES)
def test_a_signal_is_a_request_that_is_taken_once(number, flags):
    with listen("stop", "snapshot") as requests:
        assert requests.take() == 0
        signal.raise_signal(number)
        assert requests.take() == flags
        assert requests.take() == 0


def test_effects_can_be_exchanged():
    with listen("none", "stop") as requests:
        signal.raise_signal(signal.SIGINT)
        assert requests.take() == 0
        signal.raise_signal(signal.SIGHUP)
        assert requests.take() == STOP


def test_the_old_handlers_are_put_back():
    before = signal.getsignal(signal.SIGINT)
    with listen("stop", "snapshot"):
        assert signal.getsignal(signal.SIGINT) != before
    assert signal.getsignal(signal.SIGINT) == before
