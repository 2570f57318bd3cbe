"""The MemoryData layer."""

import numpy as np

from geeps_caffe.device.array import Array, Shapes
from geeps_caffe.layers.base import Blobs, Layer, Run


class MemoryData(Layer):
    """Batches of arrays that the caller gave by `reset`, over and over in order.

    top[0] (batch_size, channels, height, width), top[1] labels (batch_size, 1, 1, 1).
    """

    type_name = "MemoryData"
    bottoms = (0, 0)
    tops = (2, 2)
    is_source = True
    backward_reads = frozenset()

    def setup(self, bottom: Shapes) -> None:
        """Check the extents."""
        del bottom
        param = self.spec.memory_data_param
        self.batch = int(param.batch_size)
        self.record = (int(param.channels), int(param.height), int(param.width))
        if 0 in (self.batch, *self.record):
            self.fail(
                "batch_size, channels, height and width of memory_data_param must be "
                f"positive; they are {(self.batch, *self.record)}"
            )
        self.data: Array | None = None
        self.labels: Array | None = None
        self.position = 0

    def infer_shapes(self, bottom: Shapes) -> Shapes:
        """Data and labels."""
        del bottom
        return [(self.batch, *self.record), (self.batch, 1, 1, 1)]

    def reset(self, data: Array, labels: Array) -> None:
        """Take data (n, C, H, W) and n labels; n is a multiple of batch_size.

        The arrays are not copied. The next batch is their first.
        """
        expected = (len(data), *self.record)
        if data.shape != expected:
            self.fail(f"data of shape {data.shape}; expected {('n', *self.record)}")
        if labels.size != len(data):
            self.fail(f"{labels.size} labels for {len(data)} records")
        if not len(data) or len(data) % self.batch:
            self.fail(
                f"{len(data)} records; expected a multiple of batch_size {self.batch}"
            )
        self.data = data
        self.labels = labels.reshape(-1, 1, 1, 1)
        self.position = 0

    def forward(self, run: Run, bottom: Blobs, top: Blobs) -> None:
        """The next batch."""
        del bottom
        if self.data is None:
            self.fail("no data; call set_input_arrays(data, labels) before forward")
        rows = slice(self.position, self.position + self.batch)
        for blob, array in zip(top, (self.data, self.labels), strict=True):
            assert array is not None
            blob.data[...] = run.xp.asarray(np.asarray(array[rows]))
        self.position = (self.position + self.batch) % len(self.data)

    def backward(self, run: Run, top: Blobs, bottom: Blobs) -> None:
        """Nothing; there are no bottoms."""
