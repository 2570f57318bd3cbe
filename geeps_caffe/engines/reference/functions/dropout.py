"""Coins for each value."""

from geeps_caffe.device.array import Array
from geeps_caffe.device.philox import Stream
from geeps_caffe.engines.reference.functions.code import ArrayCode


class Dropout(ArrayCode):
    """See `engines.functions.OtherFunctions`."""

    def dropout(
        self,
        stream: Stream,
        x: Array,
        dropped: int,
        factor: float,
        kept: Array,
        y: Array,
    ) -> None:
        """The stream's bits are the coins."""
        kept[...] = self.xp.asarray(stream.bits(x.shape) >= dropped)
        self.xp.multiply(x, kept, out=y)
        y *= factor

    def dropout_back(self, dy: Array, kept: Array, factor: float, dx: Array) -> None:
        """The same mask."""
        self.xp.multiply(dy, kept, out=dx)
        dx *= factor
