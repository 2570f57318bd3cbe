"""The SoftmaxWithLoss layer."""

from geeps_caffe.device.array import Array, Shapes
from geeps_caffe.layers.base import Blobs, Run
from geeps_caffe.layers.class_scores import ClassScores
from geeps_caffe.layers.probability_loss import ProbabilityLoss
from geeps_caffe.layers.top_diff import top_diff


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
        self.weights = tuple(map(float, weights))
        if weights and len(weights) != classes:
            self.fail(
                f"loss_param has {len(weights)} class_weighting entries for "
                f"{classes} classes; give one for each"
            )

    def total(self, run: Run, over: ClassScores, bottom: Blobs) -> tuple[float, int]:
        """The logarithms of the probabilities of the labels."""
        probabilities, labels = over.scores(run.saved[0]), bottom[1].data
        found = run.functions.label_losses(
            probabilities, over.items_of(labels), self.ignored, self.weights
        )
        if found.wrong:
            over.refuse(self, run.xp, labels, self.ignored)
        if found.total != found.total:
            self.is_nan = True
        elif found.underflow:
            self.warn_once("softmax probability underflow, training has diverged")
        return found.total, found.counted

    def slope(
        self, run: Run, over: ClassScores, top: Blobs, bottom: Blobs, out: Array
    ) -> None:
        """The probabilities, less 1 at the label."""
        run.functions.label_slopes(
            over.scores(run.saved[0]),
            over.items_of(bottom[1].data),
            self.ignored,
            self.weights,
            top_diff(run.xp, top[0]),
            self.last_normalizer,
            out,
        )
