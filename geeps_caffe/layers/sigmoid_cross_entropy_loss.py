"""The SigmoidCrossEntropyLoss layer."""

from geeps_caffe.device.array import Shapes, count
from geeps_caffe.layers.base import Blobs, Run
from geeps_caffe.layers.loss import Loss
from geeps_caffe.layers.normalization import BATCH_SIZE, VALID, normalization_of
from geeps_caffe.layers.top_diff import top_diff


class SigmoidCrossEntropyLoss(Loss):
    """Sum of -t log(p) - (1 - t) log(1 - p), p = sigmoid(score), over the batch size.

    bottom[0] scores, bottom[1] targets t in [0, 1], as many of each. Targets that are
    ignore_label cost nothing. Without loss_param the divisor is the batch size.
    """

    type_name = "SigmoidCrossEntropyLoss"
    backward_reads = frozenset({"bottom"})

    def setup(self, bottom: Shapes) -> None:
        """Read what is ignored, and what the sum is divided by."""
        super().setup(bottom)
        param = self.spec.loss_param
        self.ignored = param.ignore_label if param.HasField("ignore_label") else None
        self.normalization = normalization_of(param, BATCH_SIZE)

    def infer_shapes(self, bottom: Shapes) -> Shapes:
        """One number, where each score has a target."""
        if count(bottom[0]) != count(bottom[1]):
            self.fail(
                f"bottom[0] has shape {bottom[0]} and bottom[1] {bottom[1]}; scores "
                "and targets must be as many"
            )
        return super().infer_shapes(bottom)

    @property
    def normalizer_varies(self) -> bool:
        """Where ignored targets do not count."""
        return self.ignored is not None and self.normalization.mode == VALID

    def forward(self, run: Run, bottom: Blobs, top: Blobs) -> None:
        """The loss, and what it is divided by."""
        x = bottom[0].data
        targets = bottom[1].data.reshape(x.shape)
        total, valid = run.functions.logistic_losses(x, targets, self.ignored)
        batch = x.shape[0] if x.shape else 1
        self.count(self.normalization.measure(x.size, valid, batch))
        top[0].data[...] = total / self.last_normalizer

    def backward(self, run: Run, top: Blobs, bottom: Blobs) -> None:
        """sigmoid(score) - target; 0 for ignored targets."""
        diff = bottom[0].diff
        if diff is None:
            return
        x, targets = bottom[0].data, bottom[1].data.reshape(diff.shape)
        above = (top_diff(run.xp, top[0]), self.last_normalizer)
        run.functions.logistic_slopes(x, targets, self.ignored, *above, diff)
