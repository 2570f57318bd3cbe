"""Tables cut into what is moved and computed at a time."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from geeps_caffe.paramserver.scheme import Scheme
from geeps_caffe.paramserver.table import Table, row_blocks

#: Smaller pieces cost more calls, larger ones keep others longer from overtaking.
PIECE_BYTES = 1 << 20
LOCAL_PIECE_BYTES = 1 << 22  # within one machine, where nothing is under way for long
#: What all hosts compute themselves: less than a message more would cost.
WHOLE_BYTES = 1 << 12


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


def cut_whole(table: Table, hosts: int) -> list[list[Piece]]:
    """One piece, for a table that all hosts compute; it is filed under the first."""
    return [[Piece(0, 0, 0, table.elements)], *([] for _ in range(1, hosts))]


def is_whole(
    scheme: Scheme, index: int, exact: bool, most_bytes: int = WHOLE_BYTES
) -> bool:
    """Whether all hosts compute all of a table, each from the updates of all.

    They get the same numbers then one letter earlier than from an owner. So it is done
    with small tables whose workers wait for them, if updates travel as they are
    (`exact`). What takes part in a norm is counted once, by its owner.
    """
    table = scheme.tables[index]
    normed = scheme.hyper.clips and scheme.rule_of(index) is not None
    return table.slack == 0 and exact and not normed and table.nbytes <= most_bytes


@dataclass(frozen=True)
class Cuts:
    """Where all tables are cut.

    Attributes:
        pieces: by table and owner; of a table that all compute, under the first host.
        whole: by table, whether all hosts compute all of it.
    """

    pieces: list[list[list[Piece]]]
    whole: list[bool]

    def block(self, table: int, host: int) -> list[Piece]:
        """The pieces of a table that a host computes."""
        return self.pieces[table][0 if self.whole[table] else host]

    def blocks(self, host: int) -> list[list[Piece]]:
        """The same of all tables."""
        return [self.block(table, host) for table in range(len(self.pieces))]


def cut_all(
    scheme: Scheme, hosts: int, exact: bool, piece_bytes: int, whole_bytes: int
) -> Cuts:
    """The cuts of all tables; see `cut` and `is_whole`."""
    whole = [is_whole(scheme, i, exact, whole_bytes) for i in range(len(scheme.tables))]
    pieces = [
        cut_whole(table, hosts) if all_of_it else cut(table, hosts, piece_bytes)
        for table, all_of_it in zip(scheme.tables, whole, strict=True)
    ]
    return Cuts(pieces, whole)


def _block(owner: int, first: int, last: int, step: int) -> Iterator[Piece]:
    starts = range(first, last, step) if last > first else [first]
    for index, start in enumerate(starts):
        yield Piece(owner, index, start, min(start + step, last))
