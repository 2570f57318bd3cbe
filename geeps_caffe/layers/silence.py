"""The Silence layer."""

from geeps_caffe.device.array import Shapes
from geeps_caffe.layers.base import Blobs, Layer, Run


class Silence(Layer):
    """Reads its bottoms, so that they are no outputs of the net; their diffs are 0."""

    type_name = "Silence"
    bottoms = (1, None)
    tops = (0, 0)
    backward_reads = frozenset()

    def infer_shapes(self, bottom: Shapes) -> Shapes:
        """No tops."""
        del bottom
        return []

    def forward(self, run: Run, bottom: Blobs, top: Blobs) -> None:
        """Nothing."""

    def backward(self, run: Run, top: Blobs, bottom: Blobs) -> None:
        """Zeros."""
        del run, top
        for blob in bottom:
            if blob.diff is not None:
                blob.diff[...] = 0
