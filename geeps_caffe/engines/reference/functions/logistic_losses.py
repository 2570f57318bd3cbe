"""What scores cost whose sigmoids are probabilities of targets."""

from geeps_caffe.device.array import Array
from geeps_caffe.engines.reference.functions.code import ArrayCode


class LogisticCosts(ArrayCode):
    """See `engines.functions.LossFunctions`."""

    def logistic_losses(
        self, scores: Array, targets: Array, ignored: int | None
    ) -> tuple[float, int]:
        """Without overflow for large scores."""
        xp = self.xp
        costs = xp.maximum(scores, 0) - scores * targets
        costs = costs + xp.log1p(xp.exp(-xp.abs(scores)))
        if ignored is None:
            return costs.sum(), scores.size
        counted = targets.astype(int) != ignored
        return xp.where(counted, costs, 0).sum(), int(counted.sum())

    def logistic_slopes(
        self,
        scores: Array,
        targets: Array,
        ignored: int | None,
        diff: Array,
        normalizer: float,
        out: Array,
    ) -> None:
        """Sigmoid(score) - target; 0 for ignored targets."""
        slope = 0.5 * self.xp.tanh(0.5 * scores) + 0.5 - targets
        if ignored is not None:
            slope = self.xp.where(targets.astype(int) != ignored, slope, 0)
        out[...] = slope * (diff / normalizer)
