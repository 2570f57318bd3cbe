"""Where tables live: all arrays of one host, carved from one block of memory.

Owner and workers compute the same places from the scheme alone, so a worker that
maps the owner's block sees the owner's weights, not a copy of them.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from geeps_caffe.device.array import Array, aligned
from geeps_caffe.paramserver.scheme import ASYNC, Scheme
from geeps_caffe.paramserver.table import Table


def update_slots(table: Table) -> int:
    """How many updates of one worker may be under way at once.

    A worker at clock c knows clocks up to c - slack - 1 to be applied; an
    unbounded table's updates are taken one at a time.
    """
    return 1 if table.slack == ASYNC else table.slack + 1


class Memory:
    """The arrays of all tables, for one owner and `workers` workers.

    Where these gather their updates, only the first has room for one; the others' are
    zeros of this process, which cost no memory as long as nobody writes to them.

    Args:
        block: zeroed uint8 of at least `nbytes(scheme, workers)`, 64-byte aligned.
    """

    weights: list[Array]  # per table: (elements,)
    history: list[tuple[Array, ...]]  # per table and slot of its rule

    def __init__(self, scheme: Scheme, workers: int, block: Array) -> None:
        self.scheme = scheme
        self.workers = workers
        self.block = block
        arrays = (
            _carve(table, start, block) for table, start in _places(scheme, workers)
        )
        tables = range(len(scheme.tables))
        self.weights = [next(arrays) for _ in tables]
        self.history = [
            tuple(next(arrays) for _ in range(scheme.slots_of(t))) for t in tables
        ]
        self._updates: list[list[list[Array]]] = []
        self._copies: list[list[Array | None]] = []
        for worker in range(workers):
            room = arrays if worker < _pushers(scheme, workers) else _zeros(scheme)
            self._updates.append(
                [[next(room) for _ in range(update_slots(t))] for t in scheme.tables]
            )
            self._copies.append(
                [next(arrays) if t.slack else None for t in scheme.tables]
            )

    def update(self, worker: int, table: int, clock: int) -> Array:
        """Where the worker leaves its update of a clock."""
        slots = self._updates[worker][table]
        return slots[clock % len(slots)]

    def copy(self, worker: int, table: int) -> Array:
        """What the worker reads: the weights, or its own copy if there is slack."""
        copy = self._copies[worker][table]
        return self.weights[table] if copy is None else copy


def nbytes(scheme: Scheme, workers: int) -> int:
    """The size of the block that holds a scheme's tables for so many workers."""
    end = 0
    for table, start in _places(scheme, workers):
        end = start + aligned(table.nbytes)
    return end


def _places(scheme: Scheme, workers: int) -> Iterator[tuple[Table, int]]:
    """Table and first byte of each array, in the order in which they are carved."""
    start = 0
    for table in _arrays(scheme, workers):
        yield table, start
        start += aligned(table.nbytes)


def _arrays(scheme: Scheme, workers: int) -> Iterator[Table]:
    yield from scheme.tables
    for index, table in enumerate(scheme.tables):
        yield from [table] * scheme.slots_of(index)
    for _ in range(_pushers(scheme, workers)):
        for table in scheme.tables:
            yield from [table] * update_slots(table)
        yield from (table for table in scheme.tables if table.slack)


def _pushers(scheme: Scheme, workers: int) -> int:
    """How many workers leave updates of their own."""
    return min(workers, 1) if scheme.gathered else workers


def _zeros(scheme: Scheme) -> Iterator[Array]:
    """The update of each table that a worker without room for any has.

    The system gives pages of one and the same zeros for what was never written.
    """
    largest = max(table.nbytes for table in scheme.tables)
    block = np.zeros(largest, np.uint8)
    return (_carve(table, 0, block) for table in scheme.tables)


def _carve(table: Table, start: int, block: Array) -> Any:
    return block[start : start + table.nbytes].view(np.dtype(table.dtype))
