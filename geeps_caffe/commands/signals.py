"""Signals as requests to the solver: stop, write a snapshot, both, or nothing."""

import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import FrameType

from geeps_caffe.execution.trainer import SNAPSHOT, STOP

EFFECTS = {"stop": STOP, "snapshot": SNAPSHOT, "none": 0}


class Requests:
    """What signals have asked for since somebody looked."""

    def __init__(self, effects: Mapping[int, int]) -> None:
        self._effects = effects  # signal number -> STOP and SNAPSHOT bits
        self._flags = 0

    def take(self) -> int:
        """The bits that were asked for; they are forgotten by this."""
        flags, self._flags = self._flags, 0
        return flags

    def receive(self, number: int, frame: FrameType | None = None) -> None:
        """The handler of a signal."""
        del frame
        self._flags |= self._effects[number]


@contextmanager
def listen(sigint: str, sighup: str) -> Iterator[Requests]:
    """Take SIGINT and SIGHUP by their effects, and SIGTERM as snapshot and stop."""
    effects: dict[int, int] = {signal.SIGINT: EFFECTS[sigint]}
    effects[signal.SIGTERM] = STOP | SNAPSHOT
    if hasattr(signal, "SIGHUP"):
        effects[signal.SIGHUP] = EFFECTS[sighup]
    requests = Requests(effects)
    before = {number: signal.signal(number, requests.receive) for number in effects}
    try:
        yield requests
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
