"""The progress line of a terminal."""

import time
from collections.abc import Callable

from geeps_caffe.glog import Log

_EVERY_SECONDS = 0.2


class Progress:
    """Shows iteration, rate and the time that is left; nothing in a pipe."""

    def __init__(
        self, log: Log, total: int, clock: Callable[[], float] = time.perf_counter
    ) -> None:
        self._log, self._total, self._clock = log, total, clock
        self._shown = -_EVERY_SECONDS
        self._first: tuple[float, int] | None = None  # moment and iteration

    def update(self, iteration: int) -> None:
        """After each iteration; most calls cost nothing."""
        now = self._clock()
        if self._first is None:
            self._first = now, iteration
        if now - self._shown < _EVERY_SECONDS or not self._log.terminal:
            return
        self._shown = now
        self._log.show_status(self._text(now, iteration))

    def finish(self) -> None:
        """Remove the line."""
        self._log.show_status("")

    def _text(self, now: float, iteration: int) -> str:
        assert self._first is not None
        seconds, done = now - self._first[0], iteration - self._first[1]
        share = iteration / self._total if self._total else 1.0
        bar = "#" * round(20 * share)
        text = f"[{bar:<20}] {iteration}/{self._total}"
        if done and seconds:
            rate = done / seconds
            left = (self._total - iteration) / rate
            text += f"  {rate:.1f} iter/s  {duration(left)} left"
        return text


def duration(seconds: float) -> str:
    """Seconds as hours, minutes and seconds.

    >>> duration(59.6), duration(3725)
    ('1:00', '1:02:05')
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
