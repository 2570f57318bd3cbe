"""The interface of a transport between the agents of several hosts."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from geeps_caffe.device.array import Array
from geeps_caffe.paramserver.hosts.outbox import Outbox
from geeps_caffe.paramserver.hosts.peer_messages import PeerMessage


class Arrived(NamedTuple):
    """A letter of a host; `data` is its payload as uint8."""

    host: int
    message: PeerMessage
    data: Array


@dataclass(frozen=True)
class Ended:
    """A connection that is no more; `refused`: the host does not let this one in."""

    host: int
    reason: str
    refused: bool = False


class Network(Protocol):
    """This host's connections to all others. No call waits.

    `more` says whether there may be letters that the last `receive` has not taken and
    no descriptor will tell of.
    """

    more: bool

    def send(self, host: int, outbox: Outbox) -> bool:
        """Take some letters from an outbox and send them, large ones without a copy.

        False if the way is full or not there yet. Letters of one lane arrive in the
        order in which they were sent.
        """

    def receive(self) -> list[Arrived]:
        """Some of what has come; none if nothing is there."""

    def ended(self) -> list[Ended]:
        """Connections that have ended since the last call."""

    def refused(self) -> list[Ended]:
        """Who said to be a host since the last call, but was turned away."""

    def descriptors(self) -> Sequence[int]:
        """File descriptors that become readable when there is something to do.

        If there are none, the caller looks every millisecond or so.
        """

    def attend(self, descriptor: int) -> None:
        """A descriptor has become readable: look why, so that it can be again."""

    def close(self) -> None:
        """End all connections; what was sent is still delivered."""
