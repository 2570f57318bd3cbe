"""pycaffe's Timer."""

import time


class Timer:
    """The time between `start` and `stop`."""

    def __init__(self) -> None:
        self._begun = self._took = 0.0

    def start(self) -> None:
        """Begin."""
        self._begun = time.perf_counter()

    def stop(self) -> None:
        """End."""
        self._took = time.perf_counter() - self._begun

    @property
    def seconds(self) -> float:
        """Seconds."""
        return self._took

    @property
    def ms(self) -> float:
        """Milliseconds."""
        return 1e3 * self._took

    @property
    def us(self) -> float:
        """Microseconds."""
        return 1e6 * self._took
