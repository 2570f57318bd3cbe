"""What all hosts see of a block, and what its owner knows.

If numbers travel rounded, the owner computes on exact weights of its own, and what all
workers see, those of its host too, are the sums of the rounded changes: the same on
all hosts, and never further from the exact weights than one rounding of a change.
"""

from collections.abc import Sequence

import numpy as np

from geeps_caffe.device.array import Array
from geeps_caffe.paramserver.hosts.pieces import Piece
from geeps_caffe.paramserver.hosts.wire_types import WireType
from geeps_caffe.paramserver.scheme import Scheme


class Replicas:
    """The weights that workers see, by table, and the owner's."""

    def __init__(self, scheme: Scheme, seen: Sequence[Array], wire: WireType) -> None:
        self._dtypes = [np.dtype(table.dtype) for table in scheme.tables]
        #: Without slack nothing can change before all hosts have what was sent.
        self._steady = [table.slack == 0 for table in scheme.tables]
        self._wire = wire
        self.seen = seen
        self.exact = seen if wire.exact else [np.array(array) for array in seen]

    def change(self, table: int, piece: Piece) -> Array:
        """A changed piece of the own block as it travels; seen here from now on."""
        exact, seen = self.exact[table][piece.where], self.seen[table][piece.where]
        if self._wire.exact:
            return seen if self._steady[table] else np.array(seen)
        data = self._wire.encode(exact - seen)
        seen += self._wire.decode(data, self._dtypes[table])
        return data

    def receive(self, table: int, piece: Piece, data: Array) -> None:
        """A changed piece of another host's block."""
        seen = self.seen[table][piece.where]
        values = self._wire.decode(data, self._dtypes[table])
        if self._wire.exact:
            np.copyto(seen, values)
        else:
            seen += values

    def assigned(self, table: int) -> None:
        """All weights were replaced by values that did not travel rounded."""
        if not self._wire.exact:
            np.copyto(self.exact[table], self.seen[table])
