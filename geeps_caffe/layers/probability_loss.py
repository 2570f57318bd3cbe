"""What the losses over a softmax have in common."""

from abc import abstractmethod

from geeps_caffe.device.array import Array, Shapes
from geeps_caffe.layers.base import Blobs, Run, SavedSpec
from geeps_caffe.layers.class_scores import ClassScores, class_scores
from geeps_caffe.layers.loss import Loss
from geeps_caffe.layers.normalization import VALID, normalization_of


class ProbabilityLoss(Loss):
    """bottom[0] scores, classes along `class_axis`; bottom[1] labels.

    There is a label for each element outside of the axis; items of ignore_label cost
    nothing. A second top takes the probabilities, which are saved for backward.
    """

    tops = (1, 2)

    @property
    @abstractmethod
    def class_axis(self) -> int:
        """The axis that the parameters name."""

    def setup(self, bottom: Shapes) -> None:
        """Check labels against scores."""
        super().setup(bottom)
        param = self.spec.loss_param
        self.ignored = param.ignore_label if param.HasField("ignore_label") else None
        self.normalization = normalization_of(param)
        self.over(bottom)

    def infer_shapes(self, bottom: Shapes) -> Shapes:
        """One number, then the shape of the probabilities."""
        self.over(bottom)
        return [(), bottom[0]][: max(1, len(self.spec.top))]

    @property
    def normalizer_varies(self) -> bool:
        """Where ignored labels do not count."""
        return self.ignored is not None and self.normalization.mode == VALID

    def saved_specs(self, bottom: Shapes) -> list[SavedSpec]:
        """The probabilities."""
        return [SavedSpec(bottom[0])]

    def over(self, bottom: Shapes) -> ClassScores:
        """How scores and labels lie."""
        return class_scores(self, bottom, self.class_axis)

    def forward(self, run: Run, bottom: Blobs, top: Blobs) -> None:
        """The loss, and what it is divided by."""
        over = self.over([blob.shape for blob in bottom])
        probabilities = over.scores(run.saved[0])
        run.functions.softmax(over.scores(bottom[0].data), probabilities)
        total, valid = self.total(run, over, bottom)
        self.count(self.normalization.measure(over.items, valid, over.outer))
        top[0].data[...] = total / self.last_normalizer
        if len(top) > 1:
            top[1].data[...] = run.saved[0]

    @abstractmethod
    def total(
        self, run: Run, over: ClassScores, bottom: Blobs
    ) -> tuple[Array | float, int]:
        """The sum of the costs of the items that count, and how many these are."""

    def backward(self, run: Run, top: Blobs, bottom: Blobs) -> None:
        """The slope of each item's cost, 0 where it does not count."""
        if bottom[0].diff is None:
            return
        over = self.over([blob.shape for blob in bottom])
        self.slope(run, over, top, bottom, over.scores(bottom[0].diff))

    @abstractmethod
    def slope(
        self, run: Run, over: ClassScores, top: Blobs, bottom: Blobs, out: Array
    ) -> None:
        """Write the gradients of all items into `out` (outer, classes, inner)."""
