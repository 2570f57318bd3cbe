"""Coins for each value, as kernels."""

from geeps_caffe.device.array import Array
from geeps_caffe.device.backend import CudaDevice
from geeps_caffe.device.philox import Stream
from geeps_caffe.engines.cuda.functions.code import KernelCode
from geeps_caffe.engines.cuda.random_bits import RandomBits

FILE = "dropout.cu"


class Dropout(KernelCode):
    """See `engines.functions.OtherFunctions`."""

    def __init__(self, device: CudaDevice) -> None:
        super().__init__(device)
        self._bits = RandomBits(device)

    def dropout(
        self,
        stream: Stream,
        x: Array,
        dropped: int,
        factor: float,
        kept: Array,
        y: Array,
    ) -> None:
        """A thread for four elements of a record, which take one block of bits."""
        place = self._bits.place(stream, x.shape)
        args = (x, y, kept, *place.args, dropped, factor)
        self.launch(FILE, "dropout_forward", place.blocks, *args)

    def dropout_back(self, dy: Array, kept: Array, factor: float, dx: Array) -> None:
        """A thread for each element."""
        self.launch(FILE, "dropout_backward", dx.size, kept, dy, dx, factor)
