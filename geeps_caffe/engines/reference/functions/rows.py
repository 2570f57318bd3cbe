"""Rows of a table by their numbers."""

from geeps_caffe.device.array import Array
from geeps_caffe.engines.reference.functions.code import ArrayCode


class Rows(ArrayCode):
    """See `engines.functions.OtherFunctions`."""

    def gather_rows(self, table: Array, index: Array, rows: Array) -> None:
        """Copies."""
        self.xp.take(table, index, axis=0, out=rows)

    def scatter_add_rows(self, rows: Array, index: Array, table: Array) -> None:
        """What is named several times is added up."""
        table[...] = 0
        self.xp.add.at(table, index, rows)
