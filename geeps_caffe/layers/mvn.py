"""The MVN layer."""

from geeps_caffe.device.array import Shape, Shapes, count
from geeps_caffe.layers.base import Blobs, Run, SavedSpec
from geeps_caffe.layers.neuron import Neuron
from geeps_caffe.layers.top_diff import top_diff


class MVN(Neuron):
    """y = (x - mean) / (deviation + eps), or y = x - mean without normalize_variance.

    Mean and deviation are those of each channel of each record, with across_channels
    of each record. May run in place. The gradient takes y for exactly normalized, so
    it leaves eps out of account where it multiplies (as in Caffe). The top has 4 axes,
    as Caffe's: (N, C) becomes (N, C, 1, 1).
    """

    type_name = "MVN"
    backward_reads = frozenset({"top"})

    def setup(self, bottom: Shapes) -> None:
        """Backward reads y where the variance is normalized."""
        del bottom
        self.scaled = self.spec.mvn_param.normalize_variance
        self.declare_reads(*(["top"] if self.scaled else []))

    def infer_shapes(self, bottom: Shapes) -> Shapes:
        """The bottom's, with 4 axes at least; in place the blob keeps its own."""
        shape = bottom[0]
        return [shape if self.runs_in_place else shape + (1,) * (4 - len(shape))]

    def saved_specs(self, bottom: Shapes) -> list[SavedSpec]:
        """What each row was divided by."""
        rows = self._rows(bottom[0])[0]
        return [SavedSpec((rows, 1))] if self.scaled else []

    def forward(self, run: Run, bottom: Blobs, top: Blobs) -> None:
        """Centre the rows, then scale them."""
        rows = self._rows(bottom[0].shape)
        x, y = bottom[0].data.reshape(rows), top[0].data.reshape(rows)
        y[...] = x - x.mean(axis=1, keepdims=True)
        if self.scaled:
            deviation = run.xp.sqrt((y * y).mean(axis=1, keepdims=True))
            run.saved[0][...] = deviation + self.spec.mvn_param.eps
            y /= run.saved[0]

    def backward(self, run: Run, top: Blobs, bottom: Blobs) -> None:
        """The diff without its parts along 1 and along y."""
        if bottom[0].diff is None:
            return
        rows = self._rows(bottom[0].shape)
        dy = top_diff(run.xp, top[0]).reshape(rows)
        dx = dy - dy.mean(axis=1, keepdims=True)
        if self.scaled:
            y = top[0].data.reshape(rows)
            dx -= y * (dy * y).mean(axis=1, keepdims=True)
            dx /= run.saved[0]
        bottom[0].diff.reshape(rows)[...] = dx

    def _rows(self, shape: Shape) -> tuple[int, int]:
        """(number of rows, elements of each)."""
        batch = 1 if self.spec.mvn_param.across_channels else 2
        rows = count(shape[:batch])
        return rows, count(shape[batch:])
