"""Tables cut into what is moved and computed at a time."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from geeps_caffe.paramserver.table import Table, row_blocks

PIECE_BYTES = 1 << 20  # larger messages are slower, smaller ones cost more calls


@dataclass(frozen=True)
class Piece:
    """Elements `start` to `stop` - 1 of a table; number `index` of its owner's."""

    owner: int
    index: int
    start: int
    stop: int

    @property
    def size(self) -> int:
        """Elements."""
        return self.stop - self.start

    @property
    def where(self) -> slice:
        """Its place in the table's array."""
        return slice(self.start, self.stop)


def cut(table: Table, hosts: int, piece_bytes: int = PIECE_BYTES) -> list[list[Piece]]:
    """The pieces of each host's block of rows; an empty block is one empty piece."""
    step = max(1, piece_bytes // np.dtype(table.dtype).itemsize)
    blocks = row_blocks(table.rows, hosts)
    return [
        list(_block(host, first * table.row_width, last * table.row_width, step))
        for host, (first, last) in enumerate(blocks)
    ]


def _block(owner: int, first: int, last: int, step: int) -> Iterator[Piece]:
    starts = range(first, last, step) if last > first else [first]
    for index, start in enumerate(starts):
        yield Piece(owner, index, start, min(start + step, last))
