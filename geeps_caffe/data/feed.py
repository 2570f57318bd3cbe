"""How a source makes a batch, in three stages:

fetch   the records' bytes; called in the order of batches, by one thread at a time
decode  images, labels and the shapes of the tops; by any thread
write   the tops' values into arrays of these shapes; by any thread
"""

from collections.abc import Sequence
from typing import Any, Protocol

from geeps_caffe.data.sampler import Batch
from geeps_caffe.device.array import Array, Shapes


class Decoded(Protocol):
    """A batch before it is written."""

    @property
    def shapes(self) -> Shapes:
        """The shapes of the tops."""


class Feed(Protocol):
    """How a batch is made; see the head of the file."""

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
