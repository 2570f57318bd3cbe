"""The updates of one host's workers as one: what the host sends to the shards."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from geeps_caffe.device.array import Array
from geeps_caffe.paramserver.memory import Memory, update_slots
from geeps_caffe.paramserver.messages import Push
from geeps_caffe.paramserver.reduction import Reduction
from geeps_caffe.paramserver.scheme import ASYNC, Scheme


class Share(NamedTuple):
    """What a source's sum means for the reduced update; see `peer_messages.Part`."""

    iteration: int
    rate: float
    factor: float
    weight: float


class LocalSums:
    """Adds up the local workers' updates, piece by piece.

    A single worker's update is its sum: it is not copied.
    """

    def __init__(self, scheme: Scheme, memory: Memory) -> None:
        self._scheme, self._memory = scheme, memory
        self._workers = range(memory.workers)
        self._sums = [
            []
            if memory.workers == 1 or table.slack == ASYNC
            else [
                np.empty(table.elements, table.dtype)
                for _ in range(update_slots(table))
            ]
            for table in scheme.tables
        ]

    def share(self, pushes: dict[int, Push]) -> Share:
        """The share of these updates; workers without one count as zeros."""
        some = next(iter(pushes.values()))
        if self._memory.workers == 1:
            return Share(some.iteration, some.rate, some.weight, some.weight)
        weights = self._weights(pushes)
        same = min(weights) == max(weights)
        factor = weights[0] if same else 1.0
        return Share(some.iteration, some.rate, factor, sum(weights))

    def begin(self, table: int, clock: int, pushes: dict[int, Push]) -> None:
        """Zero the updates of workers that have none in this clock."""
        for worker in self._workers:
            if worker not in pushes:
                self._memory.update(worker, table, clock).fill(0)

    def sum(
        self, table: int, clock: int, where: slice, pushes: dict[int, Push]
    ) -> Array:
        """A piece of the sum, yet to be multiplied with the share's factor."""
        parts = [self._memory.update(w, table, clock)[where] for w in self._workers]
        if len(parts) == 1:
            return parts[0]
        slots = self._sums[table]
        out = slots[clock % len(slots)][where]
        weights = self._weights(pushes)
        if min(weights) == max(weights):
            weights = [1.0] * len(weights)
        how = Reduction("mean", weights)
        deep = how.factors is not None or len(parts) > 3
        spare = np.empty_like(out) if deep else out
        return how.add_up(parts, out, spare)

    def _weights(self, pushes: dict[int, Push]) -> Sequence[float]:
        return [pushes[w].weight if w in pushes else 1.0 for w in self._workers]
