"""Swaps and offsets together, so that an arena keeps its budget in spite of holes.

That no instruction holds more bytes than the budget does not mean that the bytes can
be placed: what stays from one instruction to the next keeps its place, and holes
remain around it. Where a stay does not fit, less may be resident at its time; where
nothing more can leave, the stay itself is cut: out after one touch, in again at
another place before the next. With every stay cut, each instruction's storages lie
side by side, so any budget that the largest instruction fits in can be kept. What is
pinned is never cut; where it leaves holes, a little more is needed (`least_budget`).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from geeps_caffe.device.array import Array, aligned
from geeps_caffe.errors import BudgetError
from geeps_caffe.schedule.arena import Place, place
from geeps_caffe.schedule.lifetimes import Lifetime
from geeps_caffe.schedule.rejoin import rejoined
from geeps_caffe.schedule.stays import Gap, Residency, gaps, stays
from geeps_caffe.schedule.swaps import least_memory, plan_swaps, touched_bytes

LOCAL_ATTEMPTS = 8  # packings that lower what is resident where it did not fit
FINEST = 4096  # by so small a part of the budget at first, by twice as much each time
_HOLES = (
    "the tables that are pinned leave holes in which other arrays have no room (they "
    "would with -param_cache swapped)"
)
PARTS = (0.97, 0.94, 0.9, 0.85, 0.8, 0.7)  # of the budget, tried for all times


def fit(
    lives: Mapping[str, Lifetime], length: int, budget: int | None
) -> tuple[list[Place], int]:
    """Places of all stays, and the size of the arena in bytes.

    `budget` must not be below what the largest instruction touches, see `rounded`.

    Raises:
        BudgetError: what is pinned leaves holes; it tells a budget that does.
    """
    lives = rounded(lives)
    if budget is None:
        return place(plan_swaps(lives, length), length)
    fitting = _Fitting(lives, length, budget)
    fitted = next((p for p in fitting.packings() if p[1] <= budget), None)
    if fitted is None:
        raise BudgetError(budget, _HOLES, least_budget(lives, length))
    return rejoined(fitted[0], lives, length), fitted[1]


def least_budget(lives: Mapping[str, Lifetime], length: int) -> int:
    """The least budget, in bytes, that is certain to be kept.

    Where nothing is pinned, no budget below can do. `lives` are as `rounded`.
    """
    least = least_memory(lives, length)
    if not any(life.pinned for life in lives.values()):
        return least
    return max(least, place(_finest(lives, length), length, least)[1])


def _finest(lives: Mapping[str, Lifetime], length: int) -> list[Residency]:
    """Stays as short as can be: all away between any two touches, but the pinned."""
    return [s for v in lives.values() for s in stays(v, length, gaps(v, length))]


class _Fitting:
    """Packings of one program, each with less at the times where the last had holes."""

    def __init__(self, lives: Mapping[str, Lifetime], length: int, budget: int) -> None:
        self._lives, self._length, self._budget = lives, length, budget
        self._touched = touched_bytes(lives, length)
        self._limit = np.full(length, budget, np.int64)
        self._cuts: set[Gap] = set()

    def packings(self) -> Iterator[tuple[list[Place], int]]:
        """Better and better chances to keep the budget; the last one must.

        (Not where something is pinned, and the budget is below the least.)
        """
        for attempt in range(LOCAL_ATTEMPTS):
            placed, size = self._pack()
            yield placed, size
            self._lower(placed, self._budget * 2**attempt // FINEST, every=False)
        self._cuts.clear()
        for part in PARTS:
            limit = np.full(self._length, int(self._budget * part), np.int64)
            self._limit = np.maximum(self._touched, limit)
            yield self._pack()
        for _ in range(LOCAL_ATTEMPTS):
            placed, size = self._pack()
            yield placed, size
            self._lower(placed, 0, every=True)
        yield place(_finest(self._lives, self._length), self._length, self._budget)

    def _pack(self) -> tuple[list[Place], int]:
        stays = plan_swaps(self._lives, self._length, self._limit, self._cuts)
        return place(stays, self._length, self._budget)

    def _lower(self, placed: Sequence[Place], least: int, every: bool) -> None:
        """Less is resident where stays are outside of the budget; or they are cut.

        Less by what sticks out, and not by a few bytes where `least` is more.
        """
        for entry, at in _outside(placed, self._length, self._budget, every):
            before = self._limit[at]
            less = max(entry.end - self._budget, least)
            lower = np.maximum(self._touched[at], before - less)
            if every or (lower == before).any():
                self._cuts |= _cuts(self._lives, placed, entry, self._length)
            self._limit[at] = lower


def _outside(
    placed: Iterable[Place], length: int, budget: int, late: bool
) -> Iterator[tuple[Place, Array]]:
    """Stays beyond the budget with their times; at first only the largest of a time."""
    seen = np.zeros(length, bool)
    for entry in sorted(placed, key=lambda p: -p.stay.nbytes):
        if entry.end > budget:
            at = np.arange(entry.stay.start, entry.stay.end + 1) % length
            if late or not seen[at].any():
                yield entry, at
            seen[at] = True


def rounded(lives: Mapping[str, Lifetime]) -> dict[str, Lifetime]:
    """The same lifetimes with sizes as the arena has them, in whole cache lines."""
    return {n: replace(v, nbytes=aligned(v.nbytes)) for n, v in lives.items()}


def _cuts(
    lives: Mapping[str, Lifetime], placed: Iterable[Place], entry: Place, length: int
) -> set[Gap]:
    """The gaps inside a stay; if it has none, those next to it of all around it."""
    own = _inside(lives, entry.stay, length)
    if own:
        return own
    first, last = entry.stay.start, entry.stay.end
    return {
        gap
        for other in placed
        for gap in _inside(lives, other.stay, length)
        for shift in (-length, 0, length)
        if gap.after + shift <= last and first <= gap.before + shift
    }


def _inside(lives: Mapping[str, Lifetime], stay: Residency, length: int) -> set[Gap]:
    """The gaps between the touches of one stay."""
    return {
        gap
        for gap in gaps(lives[stay.storage], length)
        for shift in (0, length)
        if stay.start <= gap.after + shift and gap.before + shift <= stay.end
    }
