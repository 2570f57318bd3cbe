"""The interface of a transport, as a worker sees it."""

from typing import Protocol

from geeps_caffe.device.array import Array
from geeps_caffe.paramserver.messages import Message


class Link(Protocol):
    """One worker's connection to the owner of the tables."""

    def send(self, *messages: Message) -> None:
        """Send at once, without waiting for an answer; may be called by any thread.

        If the other end is gone, `receive` tells.
        """

    def receive(self, timeout: float) -> Message | None:
        """The next message; None if none comes within `timeout` seconds.

        Raises:
            PeerLost: the other end is gone.
        """

    def memory(self, nbytes: int) -> Array:
        """The owner's block of tables, as uint8, once Granted was received."""

    def await_end(self) -> None:
        """Return once the owner has ended the run or is gone, or after `close`.

        For a thread of its own; what the owner has to say is left to `receive`.
        """

    def close(self) -> None:
        """End the connection; the memory stays as long as it is used."""
