"""The last clock of each worker, for one table."""

from geeps_caffe.errors import ParameterServerError
from geeps_caffe.paramserver.messages import Push


class VectorClock:
    """Clocks come one by one; pushes are kept until a clock has been used."""

    def __init__(self, name: str, workers: int, first: int = 0) -> None:
        self._name, self._first = name, first
        self.clocks = [-1] * workers
        self.pushes: dict[int, dict[int, Push]] = {}  # by clock and worker

    def push(self, worker: int, push: Push) -> bool:
        """Note an update; returns whether it completes the clock.

        Raises:
            ParameterServerError: another worker's has another rate or iteration.
        """
        for other, known in self.pushes.get(push.clock, {}).items():
            if (known.rate, known.iteration) != (push.rate, push.iteration):
                raise ParameterServerError(
                    f"table {self._name!r}, clock {push.clock}: rank "
                    f"{self._first + worker} has rate {push.rate:g} at iteration "
                    f"{push.iteration}, rank {self._first + other} {known.rate:g} at "
                    f"{known.iteration}"
                )
        self.pushes.setdefault(push.clock, {})[worker] = push
        return self.advance(worker, push.clock)

    def advance(self, worker: int, clock: int) -> bool:
        """Note a worker's clock; returns whether that completes it.

        Raises:
            ParameterServerError: it does not follow the worker's last one.
        """
        if clock != self.clocks[worker] + 1:
            raise ParameterServerError(
                f"table {self._name!r}: clock {clock} of rank {self._first + worker} "
                f"does not follow its clock {self.clocks[worker]}"
            )
        self.clocks[worker] = clock
        return min(self.clocks) == clock
