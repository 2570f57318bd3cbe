"""The MultinomialLogisticLoss layer."""

from geeps_caffe.device.array import Shapes
from geeps_caffe.layers.base import Blobs, Run
from geeps_caffe.layers.class_scores import scores_of_records
from geeps_caffe.layers.loss import Loss

LOG_THRESHOLD = 1e-20  # the least probability that a logarithm is taken of


class MultinomialLogisticLoss(Loss):
    """Mean over the records of -log(p[label]).

    bottom[0] holds probabilities; classes are all its axes but the first.
    """

    type_name = "MultinomialLogisticLoss"

    def setup(self, bottom: Shapes) -> None:
        """Check that each record has a label."""
        super().setup(bottom)
        scores_of_records(self, bottom)

    def forward(self, run: Run, bottom: Blobs, top: Blobs) -> None:
        """The loss."""
        over = scores_of_records(self, [blob.shape for blob in bottom])
        labels, _ = over.labels(self, run.xp, bottom[1].data, None)
        own = over.picked(run.xp, over.scores(bottom[0].data), labels)
        costs = run.xp.log(run.xp.maximum(own, LOG_THRESHOLD))
        self.last_normalizer = float(max(1, over.outer))
        top[0].data[...] = -costs.sum() / self.last_normalizer

    def backward(self, run: Run, top: Blobs, bottom: Blobs) -> None:
        """-1 / p at the label."""
        if bottom[0].diff is None:
            return
        over = scores_of_records(self, [blob.shape for blob in bottom])
        labels, _ = over.labels(self, run.xp, bottom[1].data, None)
        own = over.picked(run.xp, over.scores(bottom[0].data), labels)
        bottom[0].diff[...] = 0
        rate = self.rate(run, top)
        slope = -rate / run.xp.maximum(own, LOG_THRESHOLD)
        over.add_to_picked(run.xp, over.scores(bottom[0].diff), labels, slope)
