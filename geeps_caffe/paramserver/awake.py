"""A clock of the time in which this process ran.

Who is stopped for a while (Ctrl-Z, Slurm's suspend, a paused virtual machine) has heard
nothing in that time, whether others spoke or not: it counts as nobody's silence.
"""

import time
from collections.abc import Callable


class AwakeClock:
    """Seconds; gaps of more than `longest` between two calls are left out.

    Args:
        longest: seconds from one call to the next, where the process runs.
        clock: gives seconds.
    """

    def __init__(
        self, longest: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._longest, self._clock = longest, clock
        self._last = clock()
        self._asleep = 0.0

    def __call__(self) -> float:
        """The time now, on the scale of `clock` but for what was slept through."""
        now = self._clock()
        gap, self._last = now - self._last, now
        if gap > self._longest:
            self._asleep += gap
        return now - self._asleep
