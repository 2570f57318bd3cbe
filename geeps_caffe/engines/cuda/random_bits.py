"""Random numbers on the device: the same bits as `philox.Stream` draws on the host."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from geeps_caffe.device.array import Array, Shape, count
from geeps_caffe.device.backend import CudaDevice
from geeps_caffe.device.philox import Stream

WORD = 0xFFFFFFFF


@dataclass(frozen=True)
class Place:
    """Where numbers are used: a kernel's `args`, and how many blocks of four there are.

    The args are the records, the numbers of each, layer, iteration and the key.
    """

    blocks: int
    args: tuple[Any, ...]


class RandomBits:
    """The numbers of a device; it keeps the records of the last batch there."""

    def __init__(self, device: CudaDevice) -> None:
        self._device = device
        self._known: tuple[Array, Array] | None = None  # on the host, on the device

    def draw(self, stream: Stream, shape: Shape) -> Array:
        """uint32 of `shape`; see `Stream.bits`."""
        words: Array = self._device.cupy.empty(shape, np.uint32)
        place = self.place(stream, shape)
        kernels = self._device.kernels
        args = (words, *place.args)
        kernels.bind("random_bits.cu", "random_bits", place.blocks, *args)()
        return words

    def place(self, stream: Stream, shape: Shape) -> Place:
        """For an array whose axis 0 goes with the stream's records."""
        batch, each = shape[0] if shape else 1, count(shape[1:])
        counter = (stream.layer & WORD, stream.iteration & WORD)
        key = (stream.seed & WORD, stream.seed >> 32 & WORD)
        records = self._records(stream, batch)
        return Place(batch * -(-each // 4), (records, each, *counter, *key))

    def _records(self, stream: Stream, batch: int) -> Array:
        wanted = np.resize(stream.records.astype(np.int64), batch)
        if self._known is None or not np.array_equal(self._known[0], wanted):
            self._known = wanted, self._device.cupy.asarray(wanted)
        return self._known[1]
