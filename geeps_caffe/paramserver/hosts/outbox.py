"""What waits to be sent to other hosts: the most urgent first."""

import heapq
from typing import NamedTuple, TypeAlias

from geeps_caffe.device.array import Array
from geeps_caffe.paramserver.hosts.peer_messages import PeerMessage

Payload: TypeAlias = Array | bytes
Order: TypeAlias = tuple[int, int]  # clock and table
LAST_TABLE = 1 << 30  # of what nobody waits for soon; it goes with other letters
FIRST: Order = (-2, -1)  # of what is small and holds others up


class Letter(NamedTuple):
    """A message on its way; `number`, its own, keeps the order of equals."""

    order: Order
    number: int
    message: PeerMessage
    payload: Payload

    @property
    def lane(self) -> int:
        """Letters of one lane must arrive in order: those of a piece of a table."""
        piece = getattr(self.message, "piece", None)
        return 0 if piece is None else 1 + int(piece) + self.order[1]


class Outbox:
    """One queue a host. A later letter of a table that is needed first overtakes."""

    def __init__(self, hosts: int) -> None:
        self._queues: list[list[Letter]] = [[] for _ in range(hosts)]
        self._closed: set[int] = set()
        self._number = 0
        self.sent_bytes = 0

    def put(
        self,
        host: int,
        message: PeerMessage,
        payload: Payload = b"",
        order: Order = FIRST,
    ) -> None:
        """Leave a letter; a payload must not change before it is sent."""
        if host in self._closed:
            return
        self._number += 1
        letter = Letter(order, self._number, message, payload)
        heapq.heappush(self._queues[host], letter)

    def next(self, host: int) -> Letter | None:
        """The letter to send now; it stays until `take`."""
        queue = self._queues[host]
        return queue[0] if queue else None

    def hurries(self, host: int) -> bool:
        """Whether any letter is one that somebody waits for."""
        return any(letter.order[1] != LAST_TABLE for letter in self._queues[host])

    def is_first(self, host: int) -> bool:
        """Whether the next letter is of what holds others up."""
        queue = self._queues[host]
        return bool(queue) and queue[0].order == FIRST

    def close(self, host: int) -> None:
        """Nobody reads there any more: letters are forgotten, now and later."""
        self._closed.add(host)
        self._queues[host].clear()

    def take(self, host: int) -> Letter:
        """The letter that `next` gave is on its way."""
        letter = heapq.heappop(self._queues[host])
        self.sent_bytes += nbytes(letter.payload)
        return letter

    def give_back(self, host: int, letter: Letter) -> None:
        """A letter that was taken could not be sent."""
        heapq.heappush(self._queues[host], letter)
        self.sent_bytes -= nbytes(letter.payload)

    def keep_last(self) -> None:
        """Forget all but a host's last urgent letter: why the run is over."""
        for queue in self._queues:
            urgent = [letter for letter in queue if letter.order == FIRST]
            queue[:] = [max(urgent)] if urgent else []

    def __bool__(self) -> bool:
        """Whether anything waits."""
        return any(self._queues)


def nbytes(payload: Payload) -> int:
    """Its size."""
    return len(payload) if isinstance(payload, bytes) else payload.nbytes
