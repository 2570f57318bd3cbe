"""Batches read ahead of need by threads, handed out in order.

The reader makes the next `depth` batches of a Feed. Each batch waits in buffers of the
reader until it is taken, so nothing is allocated once the buffers have their size.
"""

import time
import weakref
from collections.abc import Mapping, Sequence
from typing import Any

from geeps_caffe.data.ahead import Memory, Slot, Work, start_threads, stop_threads
from geeps_caffe.data.decode import use_one_thread
from geeps_caffe.data.feed import Feed
from geeps_caffe.data.sampler import Sampler
from geeps_caffe.device.array import Array, Shapes, allocate
from geeps_caffe.device.malloc import keep_small_buffers

DEPTH = 3  # batches read ahead
THREADS = 2


class Reader:
    """The batches of one source layer. Threads start at the first batch asked for.

    `threads` are as many as the feed allows or the net names; None: some.
    """

    def __init__(
        self,
        feed: Feed,
        sampler: Sampler,
        depth: int = DEPTH,
        threads: int | None = None,
    ) -> None:
        self.feed = feed
        self.sampler = sampler
        self._depth = max(1, depth)
        self._given = threads
        self._threads = max(1, min(threads or THREADS, self._depth))
        self._memory: Memory = allocate
        self._taken = 0
        self._held: Slot | None = None
        #: Seconds for which the program has waited for batches.
        self.waited = 0.0
        self._work: Work | None = None
        self._stop: weakref.finalize[Any, Any] | None = None

    @property
    def buffers(self) -> int:
        """Batches in memory at once, the one that was handed out among them."""
        return self._depth + 1

    def use_threads(self, threads: int) -> None:
        """Read with so many threads, where their number is not given otherwise.

        Each has a batch in the making, so there are at least as many buffers.
        """
        if self._given is None and threads > 0:
            self._threads, self._depth = threads, max(self._depth, threads)

    def use_memory(self, memory: Memory) -> None:
        """Keep the batches that are still to be read in memory of this kind."""
        self._memory = memory
        if self._work is not None:
            self._work.memory = memory

    @property
    def taken(self) -> int:
        """How many batches were taken, and so the number of the next one."""
        return self._taken

    def waiting(self) -> tuple[Array, ...] | None:
        """The next batch if it is there, which stays to be taken; else None."""
        outcome = self._working().ready.get(self._taken)
        return outcome.tops if isinstance(outcome, Slot) else None

    def shapes(self) -> Shapes:
        """The shapes of the next batch; waits until it is there."""
        return tuple(top.shape for top in self._next().tops)

    def next(self, into: Sequence[Array] | None = None) -> tuple[Array, ...]:
        """The next batch, copied into `into` if given.

        Without `into` the arrays are the reader's own buffers, float32, and valid
        until the next call.

        Raises:
            DataError: the batch can't be made; the message names the record.
        """
        work = self._working()
        if self._held is not None:  # a thread may fill it while this one waits
            work.free.put(self._held)
            self._held = None
        self._held = slot = self._next()
        del work.ready[self._taken]
        self._taken += 1
        for target, top in zip(into or (), slot.tops, strict=False):
            target[...] = top
        return slot.tops

    def name(self, item: int) -> str:
        """An item of the batch that was taken last, in the words of its source."""
        records = self.sampler.batch(self._taken - 1).records
        return self.feed.name(int(records[item % len(records)]))

    def position(self) -> dict[str, int | None]:
        """The position after the batches taken, for a snapshot."""
        return self.sampler.state(self._taken)

    def restore(self, position: Mapping[str, Any]) -> str:
        """Go on at a saved position; returns a sentence for the log, or ""."""
        self._halt()
        notice = self.sampler.restore(position)
        self._taken = 0
        return notice

    def close(self) -> None:
        """Stop the threads and give the files back."""
        self._halt()
        self.feed.close()

    def _next(self) -> Slot:
        start = time.perf_counter()
        outcome = self._working().wait(self._taken)
        self.waited += time.perf_counter() - start
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    def _working(self) -> Work:
        if self._work is None:
            use_one_thread()
            keep_small_buffers()
            depth = self._depth + 1
            self._work = work = Work(self.feed, self.sampler, depth, self._memory)
            threads = start_threads(work, self._threads)
            self._stop = weakref.finalize(self, stop_threads, work, threads)
        return self._work

    def _halt(self) -> None:
        if self._stop is not None:
            self._stop()
        self._work = self._stop = self._held = None
