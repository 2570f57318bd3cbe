"""Copies to the device begin ahead of need, where the copy engine and a place are free.

Given places, this moves no byte more: a stay begins earlier if its place is free
earlier. From the last copy to the first, each is asked to be done when its storage is
needed, or when the next copy begins: so late that it holds its place no longer than it
must, so early that computing need not wait.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from geeps_caffe.schedule.arena import Place
from geeps_caffe.schedule.lifetimes import Lifetime
from geeps_caffe.schedule.stays import Residency
from geeps_caffe.schedule.timeline import Timeline


def prefetched(
    placed: Sequence[Place],
    lives: Mapping[str, Lifetime],
    time: Timeline,
    slack: float = 1.0,
) -> list[Place]:
    """The same places, with stays that begin when their copies should.

    Args:
        slack: how many times as long as it takes each copy is given, since it may
            have to wait for another that leaves its place.
    """
    memory = _Memory(placed, time.length)
    found = list(placed)
    fetched = [i for i, entry in enumerate(placed) if entry.stay.fetch]
    engine = float("inf")  # when the copies that come later begin
    for i in sorted(fetched, key=lambda i: -_need(placed[i], time.length)):
        stay = placed[i].stay
        need = _need(placed[i], time.length)
        done = min(float(time.starts[need]), engine)
        begin = done - slack * time.costs.in_seconds(stay.nbytes)
        early = max(memory.free_since(i), lives[stay.storage].ready)
        wanted = int(np.searchsorted(time.starts, begin + 1e-12, "right")) - 1
        start = min(max(wanted, early, 0), need)
        engine = min(max(begin, float(time.starts[start])), done)
        found[i] = replace(placed[i], stay=_from(stay, start, need))
        memory.begin(i, start)
    return found


def _need(entry: Place, length: int) -> int:
    """The instruction that uses a fetched stay first."""
    return entry.stay.first_touch % max(length, 1)


def _from(stay: Residency, start: int, need: int) -> Residency:
    return replace(stay, start=start, lead=need - start)


class _Memory:
    """Since when places are free."""

    def __init__(self, placed: Sequence[Place], length: int) -> None:
        rows = [(p.offset, p.end, p.stay.start, p.stay.end) for p in placed]
        self._rows = np.array(rows, np.int64).reshape(-1, 4)
        self._need = np.array([_need(p, length) for p in placed], np.int64)
        self._storage = np.array([hash(p.stay.storage) for p in placed])
        self._length = length

    def free_since(self, index: int) -> int:
        """The first instruction from which on a stay's place is free for it.

        Its own storage must not be in the arena either, or it would be there twice.
        """
        offset, top, _, _ = self._rows[index]
        need = self._need[index]
        offsets, tops, starts, ends = self._rows.T
        there = (offsets < top) & (tops > offset)
        there |= self._storage == self._storage[index]
        there[index] = False
        before = there & (starts < need)
        since = int((ends[before] + 1).max(initial=0))
        # What lies there when the step begins, from the step before.
        around = ends[there & (ends >= self._length)] - self._length
        return min(max(since, int((around + 1).max(initial=0))), int(need))

    def begin(self, index: int, start: int) -> None:
        """A stay begins earlier."""
        self._rows[index, 2] = start
