"""Where labels stand among the scores."""

from geeps_caffe.device.array import Array
from geeps_caffe.engines.functions import Hits
from geeps_caffe.engines.reference.functions.code import ArrayCode
from geeps_caffe.engines.reference.functions.labels import picked, whole_labels


class LabelRanks(ArrayCode):
    """See `engines.functions.LossFunctions`."""

    def label_ranks(self, scores: Array, labels: Array, ignored: int | None) -> Array:
        """Equal scores count as better."""
        xp, classes = self.xp, scores.shape[1]
        whole, counted = whole_labels(xp, labels, ignored)
        named = (whole >= 0) & (whole < classes)
        own = picked(xp, scores, xp.where(named, whole, 0))
        ranks = (scores >= own[:, None, :]).sum(axis=1).astype(scores.dtype)
        ranks = xp.where(own == own, ranks, classes + 1)
        found: Array = xp.where(counted, xp.where(named, ranks, -1), 0)
        return found

    def count_hits(self, ranks: Array, top_k: int) -> Hits:
        """Sums over all items."""
        counts = ranks > 0
        hits = counts & (ranks <= top_k)
        return Hits(int(hits.sum()), int(counts.sum()), bool((ranks < 0).any()))
