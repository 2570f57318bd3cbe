"""Finds work that reads or overwrites what no event orders.

Each stream has a clock of all streams (a vector clock): what it knows to be done. An
event carries the clock of the place where it was recorded. Two pieces of work that
touch the same bytes, one of them writing, must be ordered by those clocks.

What has left its place (see `Bytes.left`) may still be copied, as a block is whose end
nobody has written: blocks are as large as what they hold may be, and of a size that is
known at run time only the first bytes may be in use. Its copy has left too; it is an
error to compute with either.
"""

from bisect import bisect_left
from collections import deque
from dataclasses import dataclass, field
from itertools import pairwise

HOST = "host"


class OrderError(AssertionError):
    """Work that nothing orders."""


@dataclass
class Bytes:
    """What was done last to a run of bytes."""

    written: tuple | None = None  # stream, tick, what
    read: dict = field(default_factory=dict)  # stream -> (tick, what)
    left: bool = False  # swapped out since it was written, or a copy of such bytes


class Order:
    """Keeps the clocks, and what touched which bytes last."""

    def __init__(self):
        self.clocks = {HOST: {}}
        self.starts, self.runs = [0], [Bytes()]
        self.pieces = 0
        self.freed = deque()  # spans given back, at any moment, and not yet forgotten

    def work(self, stream, work):
        """Check one piece of `Work` and note it."""
        reads, writes, what = work.reads, work.writes, work.what
        self.pieces += 1
        while self.freed:
            self.forget([self.freed.popleft()])
        clock = self._clock(stream)
        self._learn(clock, self.clocks[HOST])
        tick = clock[stream] = clock.get(stream, 0) + 1
        for run in self._runs(reads):
            if run.left and not work.copies:
                raise OrderError(f"{what} reads what was swapped out")
            self._after(clock, stream, run.written, what, "reads what")
        for run in self._runs(writes):
            self._after(clock, stream, run.written, what, "overwrites what")
            for other, (at, by) in run.read.items():
                self._after(clock, stream, (other, at, by), what, "overwrites what")
        leaves = [*work.leaves, *(self._copied(work) if work.copies else [])]
        for run in self._runs(reads):
            run.read[stream] = (tick, what)
        for run in self._runs(writes):
            run.written, run.read, run.left = (stream, tick, what), {}, False
        for run in self._runs(leaves):
            run.left = True

    def _copied(self, work):
        """Where a copy puts bytes that have left their place."""
        (begin, end), (target, _) = work.reads[0], work.writes[0]
        first, stop = self._cut(begin), self._cut(end)
        edges, way = [*self.starts[first:stop], end], target - begin
        spans = zip(self.runs[first:stop], pairwise(edges), strict=True)
        return [(a + way, b + way) for run, (a, b) in spans if run.left]

    def forget(self, spans):
        """Memory that was given back has been taken anew."""
        for run in self._runs(spans):
            run.written, run.read, run.left = None, {}, False

    def _after(self, clock, stream, other, what, does):
        if other is None or other[0] is stream:
            return
        if clock.get(other[0], 0) < other[1]:
            raise OrderError(
                f"{what} {does} {other[2]} may still use: no event between"
            )

    def record(self, stream, event):
        event.clock = dict(self._clock(stream))

    def wait(self, stream, event):
        self._learn(self._clock(stream), event.clock)

    def wait_host(self, event):
        self._learn(self.clocks[HOST], event.clock)

    def synchronise(self, stream):
        self._learn(self.clocks[HOST], self._clock(stream))

    def _clock(self, stream):
        return self.clocks.setdefault(stream, {})

    def _learn(self, clock, other):
        for stream, tick in other.items():
            clock[stream] = max(clock.get(stream, 0), tick)

    def _runs(self, spans):
        found = []
        for start, stop in spans:
            if start < stop:
                found += self.runs[self._cut(start) : self._cut(stop)]
        return found

    def _cut(self, place):
        """The index of the run that begins at `place`, which is cut if none does."""
        at = bisect_left(self.starts, place)
        if at == len(self.starts) or self.starts[at] != place:
            self.starts.insert(at, place)
            self.runs.insert(at, copy_of(self.runs[at - 1]))
        return at


def copy_of(run):
    return Bytes(run.written, dict(run.read), run.left)


__all__ = ["Order", "OrderError"]
