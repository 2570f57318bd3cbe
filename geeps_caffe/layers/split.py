"""The Split layer."""

from geeps_caffe.device.array import Shapes
from geeps_caffe.layers.base import Blobs, Layer, Run


class Split(Layer):
    """Tops that are all the bottom's data; the bottom's diff is the sum of theirs."""

    type_name = "Split"
    tops = (1, None)
    shares = "data"
    backward_reads = frozenset()

    def infer_shapes(self, bottom: Shapes) -> Shapes:
        """The bottom's shape, for each top."""
        return [bottom[0]] * len(self.spec.top)

    def forward(self, run: Run, bottom: Blobs, top: Blobs) -> None:
        """Nothing; the tops are views."""

    def backward(self, run: Run, top: Blobs, bottom: Blobs) -> None:
        """The sum, in the order of the tops."""
        del run
        diff = bottom[0].diff
        if diff is None:
            return
        diff[...] = top[0].diff
        for blob in top[1:]:
            diff += blob.diff
