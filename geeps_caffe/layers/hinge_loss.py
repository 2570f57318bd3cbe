"""The HingeLoss layer."""

from geeps_caffe.device.array import Array, Shapes
from geeps_caffe.layers.base import Blobs, Run
from geeps_caffe.layers.class_scores import ClassScores, scores_of_records
from geeps_caffe.layers.loss import Loss

L1, L2 = 1, 2  # HingeLossParameter.Norm


class HingeLoss(Loss):
    """Sum of max(0, 1 - s t) or of its square (norm L2), over the number of records.

    t is 1 for the record's label and -1 for the other classes; classes are all axes
    of bottom[0] but the first.
    """

    type_name = "HingeLoss"

    def setup(self, bottom: Shapes) -> None:
        """Check that each record has a label."""
        super().setup(bottom)
        scores_of_records(self, bottom)

    def forward(self, run: Run, bottom: Blobs, top: Blobs) -> None:
        """The sum of the margins that are not kept."""
        over, labels = self._labels(run, bottom)
        margin = self._margin(run, over, labels, bottom[0].data)
        costs = margin if self.spec.hinge_loss_param.norm == L1 else margin * margin
        self.last_normalizer = float(max(1, over.outer))
        top[0].data[...] = costs.sum() / self.last_normalizer

    def backward(self, run: Run, top: Blobs, bottom: Blobs) -> None:
        """-t where the margin is not kept, for L2 times twice the margin."""
        if bottom[0].diff is None:
            return
        over, labels = self._labels(run, bottom)
        slope = self._margin(run, over, labels, bottom[0].data)
        if self.spec.hinge_loss_param.norm == L1:
            slope = run.xp.sign(slope)
        else:
            slope *= 2
        self._flip(run, over, labels, slope)
        diff = over.scores(bottom[0].diff)
        diff[...] = slope * self.rate(run, top)

    def _labels(self, run: Run, bottom: Blobs) -> tuple[ClassScores, Array]:
        over = scores_of_records(self, [blob.shape for blob in bottom])
        return over, over.labels(self, run.xp, bottom[1].data, None)[0]

    def _margin(self, run: Run, over: ClassScores, labels: Array, x: Array) -> Array:
        """max(0, 1 - s t)."""
        scores = over.scores(x).copy()
        self._flip(run, over, labels, scores)
        margin: Array = run.xp.maximum(1 + scores, 0)
        return margin

    def _flip(self, run: Run, over: ClassScores, labels: Array, values: Array) -> None:
        """Change the sign at the label."""
        own = over.picked(run.xp, values, labels)
        over.add_to_picked(run.xp, values, labels, -2 * own)
