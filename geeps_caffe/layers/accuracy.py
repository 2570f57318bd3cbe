"""The Accuracy layer."""

from typing import Any

from geeps_caffe.device.array import Array, ArrayModule, Shapes
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
        param, labels = self.spec.accuracy_param, bottom[1].data
        over = self._over([blob.shape for blob in bottom])
        scores, items = over.scores(bottom[0].data), over.items_of(labels)
        ranks = run.functions.label_ranks(scores, items, self.ignored)
        found = run.functions.count_hits(ranks, param.top_k)
        if found.wrong:
            over.refuse(self, run.xp, labels, self.ignored)
        self.last_normalizer = float(param.denominator or max(1, found.counted))
        top[0].data[...] = found.hits / self.last_normalizer
        if len(top) > 1:
            top[1].data[...] = self._by_class(run.xp, items, ranks, over.classes)

    def _by_class(
        self, xp: ArrayModule, items: Array, ranks: Array, classes: int
    ) -> Array:
        """The share of hits among the items of each class; 0 where there is none."""
        labels, counts = items.astype(int), ranks > 0
        hits = counts & (ranks <= self.spec.accuracy_param.top_k)
        of_class = xp.bincount(labels[counts], minlength=classes)
        right = xp.bincount(labels[hits], minlength=classes)
        shares: Array = right / xp.maximum(of_class, 1)
        return shares

    def backward(self, run: Run, top: Blobs, bottom: Blobs) -> None:
        """Nothing; nobody can ask for a diff."""

    def _over(self, bottom: Shapes) -> ClassScores:
        return class_scores(self, bottom, self.spec.accuracy_param.axis)
