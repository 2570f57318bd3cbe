"""Swaps and offsets together, so that an arena keeps its budget in spite of holes.

That no instruction holds more bytes than the budget does not mean that the bytes can
be placed: what stays from one instruction to the next keeps its place, and holes
remain around it. Where a stay does not fit, less may be resident at its time; where
nothing more can leave, the stay itself is cut: out after one touch, in again at
another place before the next. With every stay cut, each instruction's storages lie
side by side, so any budget that the largest instruction fits in can be kept.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

import numpy as np

from geeps_caffe.device.array import Array, aligned
from geeps_caffe.schedule.arena import Place, place
from geeps_caffe.schedule.lifetimes import Lifetime
from geeps_caffe.schedule.stays import Gap, Residency, gaps
from geeps_caffe.schedule.swaps import plan_swaps, touched_bytes

ATTEMPTS = 20  # packings tried before every stay is cut
PATIENCE = 12  # of these, packings tried before all that does not fit is cut


def fit(
    lives: Mapping[str, Lifetime], length: int, budget: int | None
) -> tuple[list[Place], int]:
    """Places of all stays, and the size of the arena in bytes.

    `budget` must not be below what the largest instruction touches, see `rounded`.
    """
    lives = rounded(lives)
    if budget is None:
        return place(plan_swaps(lives, length), length)
    touched = touched_bytes(lives, length)
    limit = np.full(length, budget, np.int64)
    cuts: set[Gap] = set()
    for attempt in range(ATTEMPTS):
        placed, size = place(plan_swaps(lives, length, limit, cuts), length, budget)
        if size <= budget:
            return placed, size
        late = attempt >= PATIENCE
        for entry, at in _outside(placed, length, budget, late):
            lower = np.maximum(touched[at], limit[at] - (entry.end - budget))
            if late or (lower == limit[at]).any():
                cuts |= _cuts(lives, placed, entry, length)
            limit[at] = lower
    every = [gap for life in lives.values() for gap in gaps(life, length)]
    return place(plan_swaps(lives, length, touched, every), length, budget)


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
