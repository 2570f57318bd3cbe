"""Where all workers meet: barriers, sums over workers, flags. No I/O."""

from geeps_caffe.errors import ParameterServerError
from geeps_caffe.paramserver.messages import Close, Flags, Meet, Met, Outgoing


class Rendezvous:
    """Collects one message of each worker and answers all at once."""

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._met: dict[int, Meet] = {}
        self._flags: dict[int, dict[int, int]] = {}  # clock: worker: flags

    @property
    def waiting(self) -> list[int]:
        """The workers that have come to the meeting under way."""
        return sorted(self._met)

    def meet(self, worker: int, message: Meet) -> Outgoing:
        """One worker has come.

        Raises:
            ParameterServerError: another came with another clock or another question.
        """
        for other, known in self._met.items():
            if known.clock != message.clock:
                raise ParameterServerError(
                    f"rank {worker} meets the others after {message.clock} clocks, "
                    f"rank {other} after {known.clock}"
                )
            if len(known.values) != len(message.values):
                raise ParameterServerError(
                    f"clock {message.clock}: rank {worker} brings "
                    f"{len(message.values)} values to add up, rank {other} "
                    f"{len(known.values)}"
                )
        self._met[worker] = message
        if len(self._met) < self._workers:
            return []
        answer = self._answer()
        self._met.clear()
        return [(rank, answer) for rank in range(self._workers)]

    def _answer(self) -> Met:
        in_order = [self._met[rank] for rank in range(self._workers)]
        sums = tuple(
            sum(column) for column in zip(*(m.values for m in in_order), strict=True)
        )
        owners: dict[int, int] = {}
        for rank, message in enumerate(in_order):
            for target in message.assigned:
                owners.setdefault(target, rank)
        return Met(sums, tuple(sorted(owners.items())))

    def close(self, worker: int, message: Close) -> Outgoing:
        """A worker has closed a clock; the last one tells all what all have flagged."""
        heard = self._flags.setdefault(message.clock, {})
        heard[worker] = message.flags
        if len(heard) < self._workers:
            return []
        del self._flags[message.clock]
        total = 0
        for flags in heard.values():
            total |= flags
        answer = Flags(message.clock, total)
        return [(rank, answer) for rank in range(self._workers)]
