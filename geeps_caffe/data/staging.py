"""From a reader's pinned memory to a device, ahead of need.

A batch of packed pictures is copied to a block of the device's while the batch before
is computed with; a kernel transforms it from there into the tops. Other batches are
copied into the tops themselves when they are asked for.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from geeps_caffe.data.packed import is_packed, parts
from geeps_caffe.data.reader import Reader
from geeps_caffe.data.transform import Transform
from geeps_caffe.device.array import Array, ArrayModule
from geeps_caffe.device.device import Call, Device
from geeps_caffe.engines.functions import Functions


@dataclass(frozen=True)
class _Ahead:
    """A copy that is under way."""

    number: int  # of the batch
    block: Array  # what is copied
    wait: Call  # lets what is computed next wait for it


class Staging:
    """Fills tops on a device with the batches of one reader.

    Args:
        reader: what it has read before is not pinned, which is slower.
        device: where the tops are.
        xp: its array module.
        functions: its engine's.
        transform: what packed pictures are transformed by, where some are packed.
    """

    def __init__(
        self,
        reader: Reader,
        device: Device,
        xp: ArrayModule,
        functions: Functions,
        transform: Transform | None,
    ) -> None:
        self._reader, self._device, self._xp = reader, device, xp
        self._functions, self._transform = functions, transform
        mean, self._mean_steps = (transform or Transform()).means()
        self._mean: Array = xp.asarray(np.ascontiguousarray(mean))
        self._memory: Array | None = None  # of the device, for one block
        self._ahead: _Ahead | None = None
        reader.use_memory(device.allocate_pinned)

    def fill(self, tops: Sequence[Array]) -> None:
        """The next batch into the tops.

        Raises:
            DataError: see `Reader.next`.
        """
        batch = self._reader.next()
        if not self._takes(batch):
            for values, top in zip(batch, tops, strict=True):
                self._copy(values, top)
            return
        number, (block,) = self._reader.taken - 1, batch
        ahead = self._ahead
        if ahead is None or ahead.number != number or ahead.block is not block:
            ahead = self._start(number, block)
        ahead.wait()
        self._unpack(tops)
        self._start_next(block.nbytes)

    def _takes(self, batch: Sequence[Array]) -> bool:
        """Whether a batch is a block."""
        return self._transform is not None and is_packed(batch)

    def _unpack(self, tops: Sequence[Array]) -> None:
        assert self._memory is not None and self._transform is not None
        numbers, labels, pixels = parts(self._memory, len(tops[0]))
        how = (self._mean, self._mean_steps, self._transform.scale)
        self._functions.transform(pixels, numbers, *how, tops[0])
        if len(tops) > 1:
            tops[1][...] = labels

    def _start(self, number: int, block: Array) -> _Ahead:
        """Begin to copy a block once what was computed so far is done."""
        if self._memory is None or self._memory.nbytes != block.nbytes:
            self._memory = self._device.allocate(block.nbytes)
        wait = self._device.start_copy_in(block, self._memory)
        return _Ahead(number, block, wait)

    def _start_next(self, nbytes: int) -> None:
        """Begin with the next batch if it is there already."""
        self._ahead, batch = None, self._reader.waiting()
        if batch is not None and self._takes(batch) and batch[0].nbytes == nbytes:
            self._ahead = self._start(self._reader.taken, batch[0])

    def _copy(self, values: Array, top: Array) -> None:
        if top.dtype == values.dtype:
            self._device.start_copy_in(values, top)()
        else:
            top[...] = self._xp.asarray(values)
