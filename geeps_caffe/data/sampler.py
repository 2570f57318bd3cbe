"""Which records the batches of this rank hold, and how far the run has come."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from geeps_caffe.data.order import Order
from geeps_caffe.device.array import Array
from geeps_caffe.errors import DataError


@dataclass(frozen=True)
class Batch:
    """One batch of this rank. Both arrays are int64 of shape (batch,)."""

    places: Array  # in the stream of all ranks; keys of random numbers
    records: Array  # numbers of records in the source


@dataclass(frozen=True)
class Share:
    """This rank's share of the stream: record i goes to rank i mod `ranks`.

    With `whole`, batch i does: its records are those that one process alone would
    have in a batch.
    """

    batch: int  # records of this rank in a batch
    rank: int = 0
    ranks: int = 1
    whole: bool = False

    @property
    def together(self) -> int:
        """Records that a step takes on all ranks."""
        return self.batch * self.ranks

    def within(self) -> Array:
        """The places of this rank's records, int64, counted from a step's first."""
        numbers = np.arange(self.batch, dtype=np.int64)
        if self.whole:
            return numbers + self.rank * self.batch
        return numbers * self.ranks + self.rank


def share(batch_size: int, rank: int, ranks: int, global_batch: bool) -> Share:
    """This rank's share of a batch size as the net has it.

    Without `global_batch` each rank takes `batch_size` records, as in Caffe; with
    it the ranks divide them. Either way record j of a step goes to rank j mod ranks.

    Raises:
        ValueError: the batch size is 0, or does not divide by the number of ranks.
    """
    if batch_size < 1:
        raise ValueError("batch_size is 0 or not set; expected at least 1")
    if not global_batch:
        return Share(batch_size, rank, ranks)
    if batch_size % ranks:
        less = batch_size // ranks * ranks
        fitting = f"{less} or {less + ranks}" if less else f"{ranks}"
        raise ValueError(
            f"batch_size {batch_size} can't be divided among {ranks} workers; take "
            f"{fitting}, or give each worker a whole batch (-batch_mode per-worker)"
        )
    return Share(batch_size // ranks, rank, ranks)


class Sampler:
    """The batches of one rank, from the place where the run stands."""

    def __init__(self, order: Order, share: Share, length: int | None = None) -> None:
        self.order = order
        self.share = share
        self._length = length  # of the source, if known; noted in the state
        self._start = 0  # the place of the first batch after a restore

    def batch(self, number: int) -> Batch:
        """The batch after `number` others since the start or the last restore."""
        share = self.share
        places = self._start + number * share.together + share.within()
        return Batch(places, self.order.records(places))

    def state(self, taken: int) -> dict[str, int | None]:
        """The position after `taken` batches, for a snapshot; the same on all ranks."""
        place = self._start + taken * self.share.together
        return {"place": place, "length": self._length}

    def restore(self, state: Mapping[str, Any]) -> str:
        """Go on at a saved position; batch 0 is then the next one.

        Returns a sentence for the log if the source has another length now, else "".

        Raises:
            DataError: `state` is no position.
        """
        place, length = state.get("place"), state.get("length")
        if not isinstance(place, int) or place < 0:
            raise DataError(f"{dict(state)!r} is no position of a data layer")
        self._start = place
        if length is None or self._length is None or length == self._length:
            return ""
        return (
            f"the source had {length} records when the snapshot was taken and has "
            f"{self._length} now; reading goes on at record {place % self._length}"
        )
