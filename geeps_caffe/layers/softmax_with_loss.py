"""The SoftmaxWithLoss layer."""

from geeps_caffe.device.array import Array, Shapes
from geeps_caffe.layers.base import Blobs, Run
from geeps_caffe.layers.class_scores import ClassScores
from geeps_caffe.layers.probability_loss import ProbabilityLoss

FLT_MIN = 1.1754943508222875e-38  # Caffe's floor in either precision; loss 87.3365


class SoftmaxWithLoss(ProbabilityLoss):
    """Mean of -log(softmax(scores)[label]), the softmax along softmax_param axis.

    SegNet's class_weighting multiplies the cost of each class.
    """

    type_name = "SoftmaxWithLoss"
    backward_reads = frozenset({"bottom1"})
    fork_fields = ("weight_by_label_freqs",)

    @property
    def class_axis(self) -> int:
        """That of softmax_param."""
        return int(self.spec.softmax_param.axis)

    def setup(self, bottom: Shapes) -> None:
        """Check the weights of the classes."""
        super().setup(bottom)
        param, classes = self.spec.loss_param, self.over(bottom).classes
        weights = param.class_weighting if param.weight_by_label_freqs else ()
        self.weights = tuple(weights)
        if weights and len(weights) != classes:
            self.fail(
                f"loss_param has {len(weights)} class_weighting entries for "
                f"{classes} classes; give one for each"
            )

    def total(
        self, run: Run, over: ClassScores, labels: Array, counted: Array, bottom: Blobs
    ) -> Array:
        """The logarithms of the probabilities of the labels."""
        own = over.picked(run.xp, over.scores(run.saved[0]), labels)
        own = run.xp.where(counted, own, 1)
        self._warn(own)
        costs = run.xp.log(run.xp.maximum(own, FLT_MIN))
        if self.weights:
            costs *= self._weights(run, labels)
        total: Array = -costs.sum()
        return total

    def slope(
        self, run: Run, over: ClassScores, labels: Array, bottom: Blobs, out: Array
    ) -> None:
        """The probabilities, less 1 at the label."""
        out[...] = over.scores(run.saved[0])
        over.add_to_picked(run.xp, out, labels, -1)
        if self.weights:
            out *= self._weights(run, labels)[:, None, :]

    def _weights(self, run: Run, labels: Array) -> Array:
        """What each item's cost is multiplied with."""
        weights: Array = run.xp.asarray(self.weights, run.saved[0].dtype)[labels]
        return weights

    def _warn(self, own: Array) -> None:
        lowest = own.min() if own.size else 1
        if lowest != lowest:
            self.warn_once("scores are nan, training has diverged")
        elif lowest < FLT_MIN:
            self.warn_once("softmax probability underflow, training has diverged")
