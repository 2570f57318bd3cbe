"""What is shared: tables of rows, their segments, and which shard owns which row."""

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from geeps_caffe.errors import ParameterServerError
from geeps_caffe.paramserver.given import listed, real, text, whole

ROW_WIDTH = 128  # elements, as in GeePS
MOST_SLACK = 1000  # clocks; each takes an update of every worker


@dataclass(frozen=True)
class Segment:
    """One blob of parameters within a table; offset and size are in elements."""

    name: str
    offset: int
    size: int
    lr_mult: float = 1.0
    decay_mult: float = 1.0

    def __post_init__(self) -> None:
        """Check kinds."""
        text("a segment's name", self.name)
        for field in ("offset", "size"):
            number = whole(f"segment {self.name!r}: {field}", getattr(self, field))
            object.__setattr__(self, field, number)
        for field in ("lr_mult", "decay_mult"):
            real(f"segment {self.name!r}: {field}", getattr(self, field))

    @property
    def stop(self) -> int:
        """The first element after it."""
        return self.offset + self.size


@dataclass(frozen=True)
class Table:
    """A named row of numbers, the unit of synchronisation.

    What lies between segments is padding: rules leave it alone. A table without
    segments is one segment as a whole. `layout` says in words how the numbers are
    arranged; workers only share a table whose layouts agree. `slack` is in clocks.
    `rule` and `reduce` may differ from those of the other tables.
    """

    name: str
    size: int  # elements
    dtype: str = "float32"
    segments: tuple[Segment, ...] = ()
    row_width: int = ROW_WIDTH
    layout: str = "plain"
    slack: int = 0
    rule: str | None = None
    reduce: str | None = None

    def __post_init__(self) -> None:
        """Check sizes, and that segments lie in order within the table."""
        self._check_texts()
        for field in ("size", "row_width", "slack"):
            number = whole(f"table {self.name!r}: {field}", getattr(self, field))
            object.__setattr__(self, field, number)
        if self.size < 1 or self.row_width < 1:
            raise ParameterServerError(
                f"table {self.name!r}: size {self.size} and row_width "
                f"{self.row_width} must be at least 1"
            )
        if self.dtype not in ("float32", "float64"):
            raise ParameterServerError(
                f"table {self.name!r}: dtype {self.dtype!r} is neither float32 nor "
                "float64"
            )
        self._check_segments()

    def _check_texts(self) -> None:
        text("a table's name", self.name)
        for field in ("dtype", "layout", "rule", "reduce"):
            if getattr(self, field) is not None:
                text(f"table {self.name!r}: {field}", getattr(self, field))

    def _check_segments(self) -> None:
        what, end = f"table {self.name!r}: segments", 0
        object.__setattr__(self, "segments", listed(what, self.segments, "Segments"))
        for segment in self.segments:
            if not isinstance(segment, Segment):
                raise ParameterServerError(f"{what}: {segment!r} is no Segment")
            if segment.offset < end or segment.size < 0 or segment.stop > self.size:
                raise ParameterServerError(
                    f"table {self.name!r}: segment {segment.name!r} covers elements "
                    f"{segment.offset} to {segment.stop}, but {end} to {self.size} "
                    "are free"
                )
            end = segment.stop

    @cached_property
    def rows(self) -> int:
        """Whole rows that hold all elements."""
        return -(-self.size // self.row_width)

    @cached_property
    def elements(self) -> int:
        """Elements of all rows, the padding of the last one included."""
        return self.rows * self.row_width

    @cached_property
    def nbytes(self) -> int:
        """Bytes of all rows."""
        return self.elements * np.dtype(self.dtype).itemsize

    @property
    def parts(self) -> tuple[Segment, ...]:
        """The segments, or the table as one."""
        return self.segments or (Segment(self.name, 0, self.size),)


def row_blocks(rows: int, shards: int) -> tuple[tuple[int, int], ...]:
    """First and last-plus-one row of each shard: contiguous, sizes within one row.

    >>> row_blocks(5, 3)
    ((0, 2), (2, 4), (4, 5))
    """
    each, more = divmod(rows, shards)
    starts = [shard * each + min(shard, more) for shard in range(shards + 1)]
    return tuple(pairwise(starts))


def parts_between(table: Table, first: int, last: int) -> tuple[Segment, ...]:
    """The segments as far as they lie within elements `first` to `last` - 1."""
    found = []
    for part in table.parts:
        start, stop = max(part.offset, first), min(part.stop, last)
        if start < stop:
            found.append(
                Segment(part.name, start, stop - start, part.lr_mult, part.decay_mult)
            )
    return tuple(found)
