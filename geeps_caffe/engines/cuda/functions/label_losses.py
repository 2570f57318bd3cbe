"""Softmax, and what the probabilities of labels cost, as kernels."""

from geeps_caffe.device.array import Array
from geeps_caffe.device.backend import CudaDevice
from geeps_caffe.engines.cuda.functions.code import KernelCode, ignoring
from geeps_caffe.engines.functions import LabelLosses

SOFTMAX, FILE = "softmax.cu", "softmax_loss.cu"


class LabelCosts(KernelCode):
    """See `engines.functions.LossFunctions`."""

    def __init__(self, device: CudaDevice) -> None:
        super().__init__(device)
        self._weights: dict[tuple[float, ...], Array] = {}

    def softmax(self, scores: Array, out: Array) -> None:
        """A block for each row, or a thread where classes are not side by side."""
        outer, classes, inner = scores.shape
        if inner == 1:
            name = "softmax_forward_rows"
            self.launch(SOFTMAX, name, outer, scores, out, classes)
            return
        rest = (scores, out, classes, inner)
        self.launch(SOFTMAX, "softmax_forward", outer * inner, *rest)

    def label_losses(
        self,
        probabilities: Array,
        labels: Array,
        ignored: int | None,
        weights: tuple[float, ...],
    ) -> LabelLosses:
        """One launch, and one copy to the host."""
        classes, inner = probabilities.shape[1:]
        given = self._on_device(weights, labels)
        args = (classes, inner, int(bool(weights)), *ignoring(ignored))
        arrays = [probabilities, labels, given]
        total, counted, wrong, low = self.sums(
            FILE, "label_losses", 4, arrays, labels.size, *args
        )
        return LabelLosses(total, int(counted), wrong > 0, low > 0)

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
        """A thread for each probability."""
        given = self._on_device(weights, labels)
        arrays = (probabilities, labels, given, diff, out)
        args = (*probabilities.shape[1:], int(bool(weights)), *ignoring(ignored))
        self.launch(FILE, "label_slopes", out.size, *arrays, *args, normalizer)

    def _on_device(self, weights: tuple[float, ...], none: Array) -> Array:
        """The weights of classes; without them any array, which is not read."""
        if not weights:
            return none
        if weights not in self._weights:
            self._weights[weights] = self.device.cupy.asarray(weights, "float32")
        return self._weights[weights]
