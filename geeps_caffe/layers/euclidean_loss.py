"""The EuclideanLoss layer."""

from geeps_caffe.device.array import Shapes, count
from geeps_caffe.layers.base import Blobs, Run
from geeps_caffe.layers.loss import Loss


class EuclideanLoss(Loss):
    """Sum of (a - b) ** 2 over twice the number of records; both bottoms learn."""

    type_name = "EuclideanLoss"
    no_gradient = frozenset()

    def infer_shapes(self, bottom: Shapes) -> Shapes:
        """One number, of records of one size."""
        if count(bottom[0][1:]) != count(bottom[1][1:]):
            self.fail(
                f"bottom[0] has shape {bottom[0]} and bottom[1] {bottom[1]}; their "
                "records must have as many elements"
            )
        return super().infer_shapes(bottom)

    def forward(self, run: Run, bottom: Blobs, top: Blobs) -> None:
        """Half the mean squared distance."""
        del run
        difference = (bottom[0].data.ravel() - bottom[1].data.ravel()).ravel()
        self.last_normalizer = float(max(1, *bottom[0].shape[:1], 1))
        squares = difference @ difference
        top[0].data[...] = squares / self.last_normalizer / 2

    def backward(self, run: Run, top: Blobs, bottom: Blobs) -> None:
        """(a - b) over the number of records, and its negative."""
        shape = bottom[0].shape
        rate = self.rate(run, top)
        diff = (bottom[0].data - bottom[1].data.reshape(shape)) * rate
        for blob, sign in zip(bottom, (1, -1), strict=True):
            if blob.diff is not None:
                blob.diff[...] = sign * diff.reshape(blob.shape)
