"""Softmax, and what the probabilities of labels cost."""

from geeps_caffe.device.array import Array
from geeps_caffe.engines.functions import LabelLosses
from geeps_caffe.engines.reference.functions.code import ArrayCode
from geeps_caffe.engines.reference.functions.labels import (
    add_to_picked,
    name_classes,
    picked,
    whole_labels,
)

FLT_MIN = 1.1754943508222875e-38  # Caffe's floor in either precision; loss 87.3365
NOTHING = LabelLosses(0, 0, True, False)


class LabelCosts(ArrayCode):
    """See `engines.functions.LossFunctions`."""

    def softmax(self, scores: Array, out: Array) -> None:
        """The largest score is taken off first, so that no exponential overflows."""
        self.xp.subtract(scores, scores.max(axis=1, keepdims=True), out=out)
        self.xp.exp(out, out=out)
        out /= out.sum(axis=1, keepdims=True)

    def label_losses(
        self,
        probabilities: Array,
        labels: Array,
        ignored: int | None,
        weights: tuple[float, ...],
    ) -> LabelLosses:
        """The logarithms of the probabilities of the labels."""
        xp = self.xp
        whole, counted = whole_labels(xp, labels, ignored)
        if not name_classes(whole, probabilities.shape[1]):
            return NOTHING
        own = xp.where(counted, picked(xp, probabilities, whole), 1)
        costs = xp.log(xp.maximum(own, FLT_MIN))
        if weights:
            costs *= self._weights(weights, whole, costs)
        # Read as they are, so that nan and the array's own precision stay.
        return LabelLosses(
            -costs.sum(), int(counted.sum()), False, bool((own < FLT_MIN).any())
        )

    def label_slopes(
        self,
        probabilities: Array,
        labels: Array,
        ignored: int | None,
        weights: tuple[float, ...],
        diff: Array,
        normalizer: float,
        out: Array,
    ) -> None:
        """The probabilities, less 1 at the label."""
        xp = self.xp
        whole, counted = whole_labels(xp, labels, ignored)
        out[...] = probabilities
        add_to_picked(xp, out, whole, -1)
        if weights:
            out *= self._weights(weights, whole, out)[:, None, :]
        out *= diff / normalizer
        if ignored is not None:
            xp.copyto(out, 0, where=~counted[:, None, :])

    def _weights(self, weights: tuple[float, ...], labels: Array, like: Array) -> Array:
        """What each item's cost is multiplied with."""
        found: Array = self.xp.asarray(weights, like.dtype)[labels]
        return found
