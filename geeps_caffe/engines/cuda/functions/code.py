"""What all functions in kernels are made of."""

from typing import Any

import numpy as np

from geeps_caffe.device.array import Array, Shape
from geeps_caffe.device.backend import CudaDevice

PIECE = 1 << 10  # items that one block adds up


class KernelCode:
    """Launches kernels of a device on the current stream."""

    def __init__(self, device: CudaDevice) -> None:
        self.device = device

    def launch(self, file: str, kernel: str, n: int, *args: Any) -> None:
        """Run a kernel over n elements or items."""
        self.device.kernels.bind(file, kernel, n, *args)()

    def empty(self, shape: Shape) -> Array:
        """Memory for results."""
        found: Array = self.device.cupy.empty(shape, np.float32)
        return found

    def sums(
        self,
        file: str,
        kernel: str,
        columns: int,
        arrays: list[Any],
        items: int,
        *args: Any,
    ) -> list[float]:
        """What a kernel sums up in pieces, by column, on the host.

        Args:
            arrays: those it reads; the sums come next, then the number of items and
                that in a piece, then `args`.
        """
        pieces = -(-items // PIECE)
        sums = self.empty((pieces, columns))
        self.launch(file, kernel, pieces, *arrays, sums, items, PIECE, *args)
        host: Array = self.device.cupy.asnumpy(sums)
        totals: list[float] = host.sum(axis=0, dtype=np.float64).tolist()
        return totals


def ignoring(ignored: int | None) -> tuple[int, int]:
    """Whether a label is ignored, and which, as kernels take it."""
    return int(ignored is not None), ignored or 0
