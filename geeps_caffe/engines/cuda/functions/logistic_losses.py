"""What scores cost whose sigmoids are probabilities of targets, as kernels."""

from geeps_caffe.device.array import Array
from geeps_caffe.engines.cuda.functions.code import KernelCode, ignoring

FILE = "logistic_loss.cu"


class LogisticCosts(KernelCode):
    """See `engines.functions.LossFunctions`."""

    def logistic_losses(
        self, scores: Array, targets: Array, ignored: int | None
    ) -> tuple[float, int]:
        """One launch, and one copy to the host."""
        arrays = [scores, targets]
        size = scores.size
        total, counted = self.sums(
            FILE, "logistic_losses", 2, arrays, size, *ignoring(ignored)
        )
        return total, int(counted)

    def logistic_slopes(
        self,
        scores: Array,
        targets: Array,
        ignored: int | None,
        diff: Array,
        normalizer: float,
        out: Array,
    ) -> None:
        """A thread for each score."""
        arrays = (scores, targets, diff, out)
        args = (*ignoring(ignored), normalizer)
        self.launch(FILE, "logistic_slopes", out.size, *arrays, *args)
