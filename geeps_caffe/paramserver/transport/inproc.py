"""Several workers in one process: their messages are handled where they are sent.

For tests, and for programs whose workers are threads.
"""

import queue
import threading
import time

from geeps_caffe.device.array import Array, allocate
from geeps_caffe.paramserver.host import Host
from geeps_caffe.paramserver.limits import Limits
from geeps_caffe.paramserver.messages import Message, Outgoing


class InprocHost:
    """An owner of tables and the links of its workers."""

    def __init__(self, ranks: int, limits: Limits | None = None) -> None:
        self._lock = threading.Lock()
        self._block: Array | None = None
        self._host = Host(ranks, self._allocate, time.monotonic(), limits)
        self._inboxes: list[queue.SimpleQueue[Message]] = [
            queue.SimpleQueue() for _ in range(ranks)
        ]
        self._ends = [threading.Event() for _ in range(ranks)]

    def _allocate(self, nbytes: int) -> Array:
        self._block = allocate(nbytes)
        return self._block

    @property
    def block(self) -> Array:
        """All tables, once they are granted."""
        assert self._block is not None
        return self._block

    def link(self, rank: int) -> "InprocLink":
        """The connection of one worker."""
        return InprocLink(self, rank, self._inboxes[rank], self._ends[rank])

    def deliver(self, rank: int, message: Message) -> None:
        """Handle a message at once, and all the work that it makes."""
        with self._lock:
            self._post(self._host.receive(rank, message, time.monotonic()))
            while self._host.busy:
                self._post(self._host.work())

    def lose(self, rank: int, reason: str) -> None:
        """A worker ends without a goodbye."""
        with self._lock:
            self._post(self._host.lost(rank, reason))

    def _post(self, out: Outgoing) -> None:
        for rank, message in out:
            self._inboxes[rank].put(message)
        if self._host.failure is not None:
            for end in self._ends:
                end.set()


class InprocLink:
    """See `base.Link`."""

    def __init__(
        self,
        host: InprocHost,
        rank: int,
        inbox: "queue.SimpleQueue[Message]",
        end: threading.Event,
    ) -> None:
        self._host = host
        self._rank = rank
        self._inbox = inbox
        self._end = end
        self._open = True

    def send(self, *messages: Message) -> None:
        """Handled before this returns."""
        for message in messages if self._open else ():
            self._host.deliver(self._rank, message)

    def receive(self, timeout: float) -> Message | None:
        """Waits for what another thread's message leads to."""
        try:
            return self._inbox.get(timeout=timeout)
        except queue.Empty:
            return None

    def memory(self, nbytes: int) -> Array:
        """The very array of the owner."""
        return self._host.block[:nbytes]

    def await_end(self) -> None:
        """Until the owner's failure, or `close`."""
        self._end.wait()

    def close(self) -> None:
        """Takes no more messages."""
        self._open = False
        self._end.set()
