"""Batches read ahead of need by threads, handed out in order.

A Feed says how a batch is made, in three stages:

    fetch   the records' bytes; called in the order of batches, by one thread at a time
    decode  images, labels and the shapes of the tops; by any thread
    write   the tops' values into arrays of these shapes; by any thread

The reader runs them for the next `depth` batches. Each batch waits in buffers of the
reader until it is taken, so nothing is allocated once the buffers have their size.

The threads yield to those that compute: where they take turns on a core, a barrier of
the others waits for them, and they make up for it while the program waits for a batch.
"""

import contextlib
import os
import sys
import threading
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Any, Protocol, TypeAlias

import numpy as np

from geeps_caffe.data.decode import use_one_thread
from geeps_caffe.data.sampler import Batch, Sampler
from geeps_caffe.device.array import Array, Shape, Shapes, allocate, count
from geeps_caffe.device.malloc import keep_small_buffers

Memory: TypeAlias = Callable[[int], Array]  # from bytes to a zeroed block

DEPTH = 3  # batches read ahead
THREADS = 2
_NICE = 10  # how far the threads yield, as in the program `nice`


class Decoded(Protocol):
    """A batch before it is written."""

    @property
    def shapes(self) -> Shapes:
        """The shapes of the tops."""


class Feed(Protocol):
    """How a batch is made; see the head of this file."""

    def fetch(self, batch: Batch) -> Any:
        """What `decode` needs, from the source."""

    def decode(self, batch: Batch, fetched: Any) -> Decoded:
        """The batch in memory, with its shapes."""

    def write(self, batch: Batch, decoded: Any, tops: Sequence[Array]) -> None:
        """The tops' values, into arrays of the decoded batch's shapes."""

    def name(self, number: int) -> str:
        """A record in the words of its source, for messages."""

    def close(self) -> None:
        """Give files back."""


@dataclass
class _Slot:
    """The buffers of one batch."""

    memory: Memory = allocate  # where the blocks are from
    blocks: list[Array] = field(default_factory=list)  # bytes; they only grow
    tops: tuple[Array, ...] = ()

    def fit(self, shapes: Shapes, memory: Memory) -> tuple[Array, ...]:
        """Arrays of `shapes` in the slot's memory, which is of the kind given."""
        if self.memory != memory:
            self.memory, self.blocks, self.tops = memory, [], ()
        if tuple(top.shape for top in self.tops) != tuple(shapes):
            self.tops = tuple(self._array(i, shape) for i, shape in enumerate(shapes))
        return self.tops

    def _array(self, index: int, shape: Shape) -> Array:
        nbytes = 4 * count(shape)
        if index == len(self.blocks):
            self.blocks.append(self.memory(nbytes))
        if self.blocks[index].nbytes < nbytes:
            self.blocks[index] = self.memory(nbytes)
        return self.blocks[index][:nbytes].view(np.float32).reshape(shape)


class _Work:
    """What the threads share. It knows no Reader, so a forgotten one is collected."""

    def __init__(
        self, feed: Feed, sampler: Sampler, depth: int, memory: Memory
    ) -> None:
        self.feed = feed
        self.sampler = sampler
        self.memory = memory
        self.free: SimpleQueue[_Slot | None] = SimpleQueue()
        self.in_order = threading.Lock()
        self.changed = threading.Condition()
        self.ready: dict[int, _Slot | BaseException] = {}
        self._ahead = 0  # the next batch to fetch
        for _ in range(depth):
            self.free.put(_Slot())

    def fetch(self) -> tuple[int, Batch | None, Any]:
        """The number of the next batch, the batch, and its records or an error."""
        with self.in_order:
            number = self._ahead
            self._ahead += 1
            try:
                batch = self.sampler.batch(number)
                return number, batch, self.feed.fetch(batch)
            except BaseException as error:  # it belongs to whoever takes the batch
                return number, None, error

    def make(self, batch: Batch | None, fetched: Any, slot: _Slot) -> None:
        """Fill the slot."""
        if batch is None:
            raise fetched
        decoded = self.feed.decode(batch, fetched)
        tops = slot.fit(decoded.shapes, self.memory)
        self.feed.write(batch, decoded, tops)

    def put(self, number: int, outcome: _Slot | BaseException) -> None:
        """Hand a batch or its error over."""
        with self.changed:
            self.ready[number] = outcome
            self.changed.notify_all()

    def wait(self, number: int) -> _Slot | BaseException:
        """Batch `number`, which stays where it is."""
        with self.changed:
            self.changed.wait_for(lambda: number in self.ready)
            return self.ready[number]


def _read_ahead(work: _Work) -> None:
    """A thread: fill free slots until None comes."""
    _yield_to_others()
    while (slot := work.free.get()) is not None:
        number, batch, fetched = work.fetch()
        try:
            work.make(batch, fetched, slot)
        except BaseException as error:
            work.put(number, error)
        else:
            work.put(number, slot)


def _yield_to_others() -> None:
    """Lower the priority of this thread, where threads have one of their own."""
    if sys.platform == "linux":
        own = threading.get_native_id()
        with contextlib.suppress(OSError):
            nice = max(_NICE, os.getpriority(os.PRIO_PROCESS, own))
            os.setpriority(os.PRIO_PROCESS, own, nice)


def _stop(work: _Work, threads: Sequence[threading.Thread]) -> None:
    while not work.free.empty():
        work.free.get()
    for _ in threads:
        work.free.put(None)
    for thread in threads:
        if thread is not threading.current_thread():
            thread.join()


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
        self._held: _Slot | None = None
        #: Seconds for which the program has waited for batches.
        self.waited = 0.0
        self._work: _Work | None = None
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
        return outcome.tops if isinstance(outcome, _Slot) else None

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
        slot = self._next()
        work = self._working()
        if self._held is not None:
            work.free.put(self._held)
        self._held = slot
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

    def _next(self) -> _Slot:
        start = time.perf_counter()
        outcome = self._working().wait(self._taken)
        self.waited += time.perf_counter() - start
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    def _working(self) -> _Work:
        if self._work is None:
            use_one_thread()
            keep_small_buffers()
            depth = self._depth + 1
            self._work = work = _Work(self.feed, self.sampler, depth, self._memory)
            threads = [
                threading.Thread(
                    target=_read_ahead, args=(work,), name="data reader", daemon=True
                )
                for _ in range(self._threads)
            ]
            self._stop = weakref.finalize(self, _stop, work, threads)
            for thread in threads:
                thread.start()
        return self._work

    def _halt(self) -> None:
        if self._stop is not None:
            self._stop()
        self._work = self._stop = self._held = None
