"""An offset in one block of memory for every stay of every storage."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from geeps_caffe.device.array import Array, aligned
from geeps_caffe.schedule.stays import Residency


@dataclass(frozen=True)
class Place:
    """A stay and its offset in bytes from the start of the arena."""

    stay: Residency
    offset: int

    @property
    def end(self) -> int:
        """First byte after it."""
        return self.offset + aligned(self.stay.nbytes)


#: In which order stays choose their places. None is best for all nets.
ORDERS: tuple[Callable[[Residency], tuple[Any, ...]], ...] = (
    lambda s: (-s.nbytes, s.start, s.storage),
    lambda s: (-s.nbytes * (s.end - s.start + 1), s.start, s.storage),
    lambda s: (s.start - s.end, -s.nbytes, s.start, s.storage),
    lambda s: (s.start, -s.nbytes, s.storage),
)


def place(
    stays: Sequence[Residency], length: int, budget: int | None = None
) -> tuple[list[Place], int]:
    """Offsets such that no two stays that overlap in time overlap in memory.

    One stay after the other takes the lowest offset that is free for its whole time.
    With a budget several orders are tried until one keeps it.

    Returns:
        the places, and the size of the arena in bytes.
    """
    best = _place_in_order(sorted(stays, key=ORDERS[0]), length, None)
    assert best is not None
    for order in ORDERS[1:]:
        if budget is None or best[1] <= budget:
            break
        best = _place_in_order(sorted(stays, key=order), length, best[1]) or best
    return best


def _place_in_order(
    stays: Sequence[Residency], length: int, below: int | None
) -> tuple[list[Place], int] | None:
    """Places in this order; None as soon as the arena is not `below` some size."""
    taken = _Taken(len(stays), length)
    placed: list[Place] = []
    for stay in stays:
        placed.append(Place(stay, taken.take(stay)))
        if below is not None and placed[-1].end >= below:
            return None
    return placed, max((p.end for p in placed), default=0)


class _Taken:
    """Places taken so far, in order of their offsets."""

    def __init__(self, most: int, length: int) -> None:
        self._length, self._count = length, 0
        # Rows: offset, first byte after it, first and last instruction.
        self._table = np.zeros((4, most), np.int64)

    def take(self, stay: Residency) -> int:
        """Enter a stay at the lowest offset that is free for its whole time."""
        size = aligned(stay.nbytes)
        used = self._table[:, : self._count]
        offsets, tops = used[:2, self._meets(stay)]
        floors = np.concatenate(([0], np.maximum.accumulate(tops)))
        fits = offsets - floors[:-1] >= size
        index = int(fits.argmax()) if fits.any() else len(offsets)
        offset = int(floors[index])
        self._insert(offset, (offset, offset + size, stay.start, stay.end))
        return offset

    def _meets(self, stay: Residency) -> Array:
        """Which of the stays entered are in the arena at some time with this one."""
        start, end = self._table[2:, : self._count]
        meets: Array = (start <= stay.end) & (end >= stay.start)
        for shift in (-self._length, self._length):  # stays beyond the step's end
            meets |= (start <= stay.end + shift) & (end >= stay.start + shift)
        return meets

    def _insert(self, offset: int, row: tuple[int, ...]) -> None:
        index = int(np.searchsorted(self._table[0, : self._count], offset))
        behind = self._table[:, index : self._count].copy()
        self._table[:, index + 1 : self._count + 1] = behind
        self._table[:, index] = row
        self._count += 1
