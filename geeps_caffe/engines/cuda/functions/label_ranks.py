"""Where labels stand among the scores, as kernels."""

from geeps_caffe.device.array import Array
from geeps_caffe.engines.cuda.functions.code import KernelCode, ignoring
from geeps_caffe.engines.functions import Hits

FILE = "accuracy.cu"


class LabelRanks(KernelCode):
    """See `engines.functions.LossFunctions`."""

    def label_ranks(self, scores: Array, labels: Array, ignored: int | None) -> Array:
        """A block for each row, or a thread where classes are not side by side."""
        classes, inner = scores.shape[1:]
        ranks = self.empty(labels.shape)
        arrays, rest = (scores, labels, ranks), ignoring(ignored)
        if inner == 1:
            name = "label_ranks_rows"
            self.launch(FILE, name, labels.size, *arrays, classes, *rest)
        else:
            place = (classes, inner)
            self.launch(FILE, "label_ranks", labels.size, *arrays, *place, *rest)
        return ranks

    def count_hits(self, ranks: Array, top_k: int) -> Hits:
        """One launch, and one copy to the host."""
        hits, counted, wrong = self.sums(
            FILE, "count_hits", 3, [ranks], ranks.size, top_k
        )
        return Hits(int(hits), int(counted), wrong > 0)
