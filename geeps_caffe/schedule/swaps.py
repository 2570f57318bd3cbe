"""Which storages leave the arena for a while, so that a byte budget is kept.

Start with everything resident from its first to its last touch. While some step
holds more than it may, that storage leaves in a gap between two of its touches
which relieves most for each byte that it moves: bytes over the limit times
instructions. In the end what left in vain (others that left later made room for it)
stays. A storage moves out only if it was written since it came in.
"""

from collections.abc import Collection, Iterable, Mapping

import numpy as np

from geeps_caffe.device.array import Array
from geeps_caffe.schedule.lifetimes import Lifetime
from geeps_caffe.schedule.stays import Gap, Residency, gaps, stays


def plan_swaps(
    lives: Mapping[str, Lifetime],
    length: int,
    limit: Array | None = None,
    cuts: Collection[Gap] = (),
) -> list[Residency]:
    """The stays of all storages, within `limit` bytes where any limit can be kept.

    Args:
        length: number of instructions.
        limit: for each instruction the bytes that may be resident, not below
            `touched_bytes`; None: all stay.
        cuts: gaps in which their storages are away in any case.
    """
    whole = [s for life in lives.values() for s in stays(life, length, ())]
    if limit is None:
        return whole
    choice = _Choice(lives, length, _load(whole, length), cuts)
    choice.leave(limit)
    choice.stay(limit)
    away: dict[str, list[Gap]] = {name: [] for name in lives}
    for gap in choice.taken():
        away[gap.storage].append(gap)
    return [s for n, life in lives.items() for s in stays(life, length, away[n])]


def touched_bytes(lives: Mapping[str, Lifetime], length: int) -> Array:
    """Bytes that each instruction touches, with what is never away."""
    total = np.zeros(length, np.int64)
    for life in lives.values():
        if life.touches:
            total[list(life.touches)] += life.nbytes
        elif life.from_before:
            total += life.nbytes
    return total


def least_memory(lives: Mapping[str, Lifetime], length: int) -> int:
    """Bytes that the largest instruction touches: no budget below can do."""
    return int(touched_bytes(lives, length).max(initial=0))


class _Choice:
    """The gaps of all storages, and which of them are taken so far."""

    def __init__(
        self,
        lives: Mapping[str, Lifetime],
        length: int,
        load: Array,
        cuts: Collection[Gap],
    ) -> None:
        self._gaps = [g for life in lives.values() for g in gaps(life, length)]
        self._length, self._load = length, load
        self._first = np.array([g.after + 1 for g in self._gaps], np.int64)
        self._end = np.array([g.before for g in self._gaps], np.int64)
        self._nbytes = np.array([g.nbytes for g in self._gaps], np.int64)
        forced = set(cuts)
        self._forced = np.array([g in forced for g in self._gaps], bool)
        self._taken = self._forced.copy()
        for i in np.flatnonzero(self._forced):
            self._add(int(i), -1)

    def taken(self) -> list[Gap]:
        """The gaps in which their storages are away."""
        return [gap for gap, away in zip(self._gaps, self._taken, strict=True) if away]

    def leave(self, limit: Array) -> None:
        """Take gaps until no instruction is over its limit."""
        while self._gaps:
            over = np.maximum(self._load - limit, 0)
            relief = np.where(self._taken, 0.0, self._relief(over))
            best = int(relief.argmax())
            if relief[best] <= 0:
                return
            self._taken[best] = True
            self._add(best, -1)

    def _relief(self, over: Array) -> Array:
        """For each gap, bytes over the limit that it relieves, by bytes moved."""
        # Twice the step, since gaps may reach into the next one.
        total = np.concatenate(([0], np.cumsum(np.tile(over, 2))))
        steps = np.concatenate(([0], np.cumsum(np.tile(over > 0, 2))))
        bound = total[self._end] - total[self._first]
        crossed = steps[self._end] - steps[self._first]
        relief: Array = np.minimum(bound / np.maximum(self._nbytes, 1), crossed)
        return relief

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
        return [slice(first, end), slice(0, max(0, end - self._length))]


def _load(found: Iterable[Residency], length: int) -> Array:
    """Resident bytes at each instruction; no stay reaches into the next step."""
    change = np.zeros(length + 1, np.int64)
    for stay in found:
        change[stay.start] += stay.nbytes
        change[stay.end + 1] -= stay.nbytes
    load: Array = np.cumsum(change)[:length]
    return load
