"""The SoftmaxWithLoss layer."""

from geeps_caffe.device.array import Array, Shapes
from geeps_caffe.layers.base import Blobs, Run, SavedSpec
from geeps_caffe.layers.class_scores import ClassScores, class_scores, softmax
from geeps_caffe.layers.loss import Loss
from geeps_caffe.layers.normalization import normalization_of

FLT_MIN = 1.1754943508222875e-38  # Caffe's floor in either precision; loss 87.3365


class SoftmaxWithLoss(Loss):
    """Mean of -log(softmax(scores)[label]), the softmax along softmax_param axis.

    bottom[0] scores, bottom[1] labels, one for each element outside of the axis. A
    second top takes the probabilities. Items of ignore_label cost nothing. SegNet's
    class_weighting multiplies the cost of each class.
    """

    type_name = "SoftmaxWithLoss"
    tops = (1, 2)
    backward_reads = frozenset({"bottom1"})
    fork_fields = ("weight_by_label_freqs",)

    def setup(self, bottom: Shapes) -> None:
        """Check labels against scores."""
        super().setup(bottom)
        param = self.spec.loss_param
        self.ignored = param.ignore_label if param.HasField("ignore_label") else None
        self.normalization = normalization_of(param)
        classes = self._over(bottom).classes
        weights = param.class_weighting if param.weight_by_label_freqs else ()
        self.weights = tuple(weights)
        if weights and len(weights) != classes:
            self.fail(
                f"loss_param has {len(weights)} class_weighting entries for "
                f"{classes} classes; give one for each"
            )

    def infer_shapes(self, bottom: Shapes) -> Shapes:
        """One number, then the shape of the probabilities."""
        self._over(bottom)
        return [(), bottom[0]][: max(1, len(self.spec.top))]

    def saved_specs(self, bottom: Shapes) -> list[SavedSpec]:
        """The probabilities."""
        return [SavedSpec(bottom[0])]

    def forward(self, run: Run, bottom: Blobs, top: Blobs) -> None:
        """The loss, and what it is divided by."""
        xp, over = run.xp, self._over([blob.shape for blob in bottom])
        over.scores(run.saved[0])[...] = softmax(xp, over.scores(bottom[0].data))
        labels, counted = over.labels(self, xp, bottom[1].data, self.ignored)
        own = over.picked(xp, over.scores(run.saved[0]), labels)
        own = xp.where(counted, own, 1)
        self._warn(own)
        costs = xp.log(xp.maximum(own, FLT_MIN)) * self._weights(run, labels)
        self.last_normalizer = self.normalization.divisor(
            over.items, int(counted.sum()), over.outer
        )
        top[0].data[...] = -costs.sum() / self.last_normalizer
        if len(top) > 1:
            top[1].data[...] = run.saved[0]

    def backward(self, run: Run, top: Blobs, bottom: Blobs) -> None:
        """The probabilities, less 1 at the label; 0 for ignored items."""
        if bottom[0].diff is None:
            return
        over = self._over([blob.shape for blob in bottom])
        labels, counted = over.labels(self, run.xp, bottom[1].data, self.ignored)
        rate = counted * self._weights(run, labels) * self.rate(run, top)
        diff = over.scores(bottom[0].diff)
        diff[...] = over.scores(run.saved[0])
        over.add_to_picked(run.xp, diff, labels, -1)
        diff *= rate[:, None, :]

    def _over(self, bottom: Shapes) -> ClassScores:
        return class_scores(self, bottom, self.spec.softmax_param.axis)

    def _weights(self, run: Run, labels: Array) -> Array | float:
        """What each item's cost is multiplied with."""
        if not self.weights:
            return 1.0
        weights: Array = run.xp.asarray(self.weights, run.saved[0].dtype)[labels]
        return weights

    def _warn(self, own: Array) -> None:
        lowest = own.min() if own.size else 1
        if lowest != lowest:
            self.warn_once("scores are nan, training has diverged")
        elif lowest < FLT_MIN:
            self.warn_once("softmax probability underflow, training has diverged")
