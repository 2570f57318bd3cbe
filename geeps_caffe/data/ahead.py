"""Threads that make batches ahead of need.

They yield to those that compute: where they take turns on a core, a barrier of the
others waits for them, and they make up for it while the program waits for a batch.
"""

import contextlib
import os
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from queue import LifoQueue
from typing import Any, TypeAlias

import numpy as np

from geeps_caffe.data.feed import Feed
from geeps_caffe.data.sampler import Batch, Sampler
from geeps_caffe.device.array import Array, Shape, Shapes, allocate, count

Memory: TypeAlias = Callable[[int], Array]  # from bytes to a zeroed block

_NICE = 10  # how far the threads yield, as in the program `nice`


@dataclass
class Slot:
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


class Work:
    """What the threads share. It knows no Reader, so a forgotten one is collected.

    `depth` is how many batches there are at once, that in use among them.
    """

    def __init__(
        self, feed: Feed, sampler: Sampler, depth: int, memory: Memory
    ) -> None:
        self.feed = feed
        self.sampler = sampler
        self.memory = memory
        self.new = [Slot() for _ in range(depth)]
        #: The one given back last is filled first: it is still in a cache.
        self.free: LifoQueue[Slot | None] = LifoQueue()
        self.in_order = threading.Lock()
        self.changed = threading.Condition()
        self.ready: dict[int, Slot | BaseException] = {}
        self._ahead = 0  # the next batch to fetch

    def take(self) -> Slot | None:
        """A slot to fill, new ones first; None ends the thread."""
        try:
            return self.new.pop()
        except IndexError:
            return self.free.get()

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

    def make(self, batch: Batch | None, fetched: Any, slot: Slot) -> None:
        """Fill the slot."""
        if batch is None:
            raise fetched
        decoded = self.feed.decode(batch, fetched)
        tops = slot.fit(decoded.shapes, self.memory)
        self.feed.write(batch, decoded, tops)

    def put(self, number: int, outcome: Slot | BaseException) -> None:
        """Hand a batch or its error over."""
        with self.changed:
            self.ready[number] = outcome
            self.changed.notify_all()

    def wait(self, number: int) -> Slot | BaseException:
        """Batch `number`, which stays where it is."""
        with self.changed:
            self.changed.wait_for(lambda: number in self.ready)
            return self.ready[number]


def start_threads(work: Work, threads: int) -> list[threading.Thread]:
    """Threads that fill free slots."""
    started = [
        threading.Thread(
            target=_fill_slots, args=(work,), name="data reader", daemon=True
        )
        for _ in range(threads)
    ]
    for thread in started:
        thread.start()
    return started


def _fill_slots(work: Work) -> None:
    """A thread: fill slots until None comes."""
    _yield_to_others()
    while (slot := work.take()) is not None:
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


def stop_threads(work: Work, threads: Sequence[threading.Thread]) -> None:
    """Let the threads finish what they are at."""
    work.new.clear()
    while not work.free.empty():
        work.free.get()
    for _ in threads:
        work.free.put(None)
    for thread in threads:
        if thread is not threading.current_thread():
            thread.join()
