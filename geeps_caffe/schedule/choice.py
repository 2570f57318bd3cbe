"""Which gaps are taken: those that relieve most for what they cost."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from geeps_caffe.device.array import Array
from geeps_caffe.schedule.stays import Gap, Residency


@dataclass(frozen=True)
class Candidates:
    """Gaps, and for each what taking it relieves and costs.

    A taken gap relieves the instructions from `first` to before `end`: all between two
    touches, or fewer where copies are given time.
    """

    gaps: Sequence[Gap]
    first: Array
    end: Array
    price: Array  # of taking it: bytes moved, or seconds


class Choice:
    """The candidates taken so far, and what is resident at each instruction."""

    def __init__(
        self,
        candidates: Candidates,
        length: int,
        load: Array,
        forced: Collection[Gap] = (),
    ) -> None:
        self._candidates, self._length, self._load = candidates, length, load
        self._first, self._end = candidates.first, candidates.end
        self._nbytes = np.array([g.nbytes for g in candidates.gaps], np.int64)
        wanted = set(forced)
        self._forced = np.array([g in wanted for g in candidates.gaps], bool)
        self._taken = self._forced.copy()
        for i in np.flatnonzero(self._forced):
            self._add(int(i), -1)

    def taken(self) -> list[Gap]:
        """The gaps in which their storages are away."""
        return [self._candidates.gaps[int(i)] for i in np.flatnonzero(self._taken)]

    def leave(self, limit: Array) -> None:
        """Take gaps until no instruction is over its limit, or nothing relieves it."""
        while len(self._nbytes):
            over = np.maximum(self._load - limit, 0)
            worth = np.where(self._taken, 0.0, self._worth(over))
            best = int(worth.argmax())
            if worth[best] <= 0:
                return
            self._taken[best] = True
            self._add(best, -1)

    def _worth(self, over: Array) -> Array:
        """For each gap, bytes over the limit that it relieves, by its price."""
        # Twice the step, since gaps may reach into the next one.
        total = np.concatenate(([0], np.cumsum(np.tile(over, 2))))
        steps = np.concatenate(([0], np.cumsum(np.tile(over > 0, 2))))
        bound = total[self._end] - total[self._first]
        crossed = steps[self._end] - steps[self._first]
        relieved = np.minimum(bound, crossed * self._nbytes)
        worth: Array = relieved / np.maximum(self._candidates.price, 1e-12)
        return worth

    def stay(self, limit: Array) -> None:
        """Give back gaps whose storages fit, the largest first."""
        free = self._taken & ~self._forced
        for i in sorted(np.flatnonzero(free), key=lambda i: -self._nbytes[i]):
            room = limit - self._load
            if all(
                room[s].min(initial=self._nbytes[i]) >= self._nbytes[i]
                for s in self._spans(int(i))
            ):
                self._taken[i] = False
                self._add(int(i), 1)

    def _add(self, index: int, sign: int) -> None:
        for span in self._spans(index):
            self._load[span] += sign * self._nbytes[index]

    def _spans(self, index: int) -> list[slice]:
        """The instructions of a gap, in this step and in the next."""
        first, end = int(self._first[index]), int(self._end[index])
        wrapped = slice(max(0, first - self._length), max(0, end - self._length))
        return [slice(first, min(end, self._length)), wrapped]


def by_storage(gaps: Iterable[Gap], names: Iterable[str]) -> Mapping[str, list[Gap]]:
    """The gaps of each storage; some have none."""
    found: dict[str, list[Gap]] = {name: [] for name in names}
    for gap in gaps:
        found[gap.storage].append(gap)
    return found


def load_of(found: Iterable[Residency], length: int) -> Array:
    """Resident bytes at each instruction, with what stays from the step before."""
    change = np.zeros(2 * length + 1, np.int64)
    for stay in found:
        change[stay.start] += stay.nbytes
        change[stay.end + 1] -= stay.nbytes
    load: Array = np.cumsum(change)[: 2 * length].reshape(2, length).sum(axis=0)
    return load
