"""What left in vain stays: it came back to its place, which was free meanwhile."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from geeps_caffe.schedule.arena import Place
from geeps_caffe.schedule.lifetimes import Lifetime
from geeps_caffe.schedule.stays import Gap, gaps, stays


def rejoined(
    placed: Sequence[Place], lives: Mapping[str, Lifetime], length: int
) -> list[Place]:
    """The same places, with stays joined where a storage need not have left."""
    mine: dict[str, list[Place]] = defaultdict(list)
    for entry in placed:
        mine[entry.stay.storage].append(entry)
    taken = _Memory(placed, length)
    found: list[Place] = []
    for name, places in mine.items():
        life = lives[name]
        away = _away(life, places, length)
        kept = [gap for gap in away if not taken.fill(gap, places)]
        if len(kept) == len(away):
            found += places
            continue
        at = {p.stay.start: p.offset for p in places}
        for stay in stays(life, length, kept):
            found.append(Place(stay, at.get(stay.start, places[0].offset)))
    return found


def _away(life: Lifetime, places: Iterable[Place], length: int) -> list[Gap]:
    """The gaps in which a storage is away."""
    starts = {p.stay.start for p in places}
    ends = {p.stay.end % length for p in places}
    return [
        gap
        for gap in gaps(life, length)
        if gap.after in ends and (gap.before % length in starts or gap.before == length)
    ]


class _Memory:
    """Who lies where and when."""

    def __init__(self, placed: Sequence[Place], length: int) -> None:
        rows = [(p.offset, p.end, p.stay.start, p.stay.end) for p in placed]
        self._rows = np.array(rows, np.int64).reshape(-1, 4).T
        self._length = length

    def fill(self, gap: Gap, places: Iterable[Place]) -> bool:
        """Let a storage stay in a gap, if it returns to a place that was free."""
        before = [p for p in places if p.stay.end % self._length == gap.after]
        after = [p for p in places if p.stay.start == gap.before % self._length]
        if not (before and after) or before[0].offset != after[0].offset:
            return False
        offset, top = before[0].offset, before[0].end
        first, last = gap.after + 1, gap.before - 1
        if self._busy(offset, top, first, last):
            return False
        row = np.array([[offset], [top], [first], [last]], np.int64)
        self._rows = np.concatenate((self._rows, row), axis=1)
        return True

    def _busy(self, offset: int, top: int, first: int, last: int) -> bool:
        offsets, tops, starts, ends = self._rows
        there = (offsets < top) & (tops > offset)
        return any(
            bool((there & (starts <= last + s) & (ends >= first + s)).any())
            for s in (-self._length, 0, self._length)
        )
