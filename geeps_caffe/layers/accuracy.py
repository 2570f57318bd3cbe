"""The Accuracy layer."""

from typing import Any

from geeps_caffe.device.array import Shapes
from geeps_caffe.layers.base import Blobs, Layer, Run, Setting
from geeps_caffe.layers.class_scores import ClassScores, class_scores


class Accuracy(Layer):
    """The share of items whose label is among the top_k best scores.

    Scores equal to the label's count as better, so a net whose scores are all alike
    gets 0; so does a score that is nan. bottom[0] holds scores along `axis`, bottom[1]
    labels; items of ignore_label do not count. A second top has the share for each
    class. `last_normalizer` is the number of items of the last forward, or the
    `denominator` of some forks.
    """

    type_name = "Accuracy"
    bottoms = (2, 2)
    tops = (1, 2)
    backward_reads = frozenset()
    no_gradient = frozenset({0, 1})

    def __init__(self, spec: Any, setting: Setting | None = None) -> None:
        super().__init__(spec, setting)
        self.last_normalizer = 1.0

    def setup(self, bottom: Shapes) -> None:
        """Check top_k and the number of labels."""
        param = self.spec.accuracy_param
        self.ignored = param.ignore_label if param.HasField("ignore_label") else None
        if param.denominator < 0:
            self.fail(f"denominator {param.denominator:g} must not be negative")
        classes = self._over(bottom).classes
        if param.top_k > classes:
            self.fail(f"top_k {param.top_k} is more than the {classes} classes")

    def infer_shapes(self, bottom: Shapes) -> Shapes:
        """One number, then one for each class."""
        return [(), (self._over(bottom).classes,)][: len(self.spec.top)]

    def forward(self, run: Run, bottom: Blobs, top: Blobs) -> None:
        """Count, for each item, the scores that are no worse than the label's."""
        xp, param = run.xp, self.spec.accuracy_param
        over = self._over([blob.shape for blob in bottom])
        labels, counted = over.labels(self, xp, bottom[1].data, self.ignored)
        scores = over.scores(bottom[0].data)
        own = over.picked(xp, scores, labels)
        rank = (scores >= own[:, None, :]).sum(axis=1)  # 1 is the best
        hits = counted & (rank <= param.top_k) & (own == own)
        items = int(counted.sum())
        self.last_normalizer = float(param.denominator or max(1, items))
        top[0].data[...] = hits.sum() / self.last_normalizer if items else 0
        if len(top) > 1:
            of_class = xp.bincount(labels[counted], minlength=over.classes)
            right = xp.bincount(labels[hits], minlength=over.classes)
            top[1].data[...] = right / xp.maximum(of_class, 1)

    def backward(self, run: Run, top: Blobs, bottom: Blobs) -> None:
        """Nothing; nobody can ask for a diff."""

    def _over(self, bottom: Shapes) -> ClassScores:
        return class_scores(self, bottom, self.spec.accuracy_param.axis)
