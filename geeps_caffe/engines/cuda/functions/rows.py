"""Rows of a table by their numbers, as kernels."""

from math import prod

from geeps_caffe.device.array import Array
from geeps_caffe.engines.cuda.functions.code import KernelCode

FILE = "rows.cu"


class Rows(KernelCode):
    """See `engines.functions.OtherFunctions`."""

    def gather_rows(self, table: Array, index: Array, rows: Array) -> None:
        """A thread for each element."""
        width = prod(table.shape[1:])
        self.launch(FILE, "gather_rows", rows.size, table, index, rows, width)

    def scatter_add_rows(self, rows: Array, index: Array, table: Array) -> None:
        """Without atomics: the index is sorted, and who is first in a row adds up."""
        width = prod(table.shape[1:])
        table.fill(0)
        order = self.device.cupy.argsort(index, kind="stable")
        arrays = (rows, index, order, table)
        args = (index.size, width)
        self.launch(FILE, "scatter_add_rows", rows.size, *arrays, *args)
