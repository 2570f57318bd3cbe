"""The Reduction layer."""

from geeps_caffe.device.array import Array, ArrayModule, Shapes, count
from geeps_caffe.layers.base import Blobs, Run
from geeps_caffe.layers.neuron import Neuron
from geeps_caffe.layers.top_diff import top_diff

SUM, ASUM, SUMSQ, MEAN = 1, 2, 3, 4  # ReductionParameter.ReductionOp


class Reduction(Neuron):
    """The axes from `axis` on become one number: coeff times sum, mean and so on.

    SUM x, ASUM |x|, SUMSQ x * x, MEAN x / count. The top's shape is that of the axes
    before `axis`.
    """

    type_name = "Reduction"
    in_place = False
    backward_reads = frozenset({"bottom"})

    def setup(self, bottom: Shapes) -> None:
        """Read the parameters; sums and means need no input in backward."""
        param = self.spec.reduction_param
        self.first = self.axis(param.axis, len(bottom[0]))
        self.kind = param.operation
        self.declare_reads(*(["bottom"] if self.kind in (ASUM, SUMSQ) else []))

    def infer_shapes(self, bottom: Shapes) -> Shapes:
        """The axes that remain."""
        return [bottom[0][: self.first]]

    def forward(self, run: Run, bottom: Blobs, top: Blobs) -> None:
        """One number for each item."""
        xp, shape = run.xp, bottom[0].shape
        each = count(shape[self.first :])
        x = bottom[0].data.reshape(*shape[: self.first], each)
        if self.kind == ASUM:
            x = xp.abs(x)
        elif self.kind == SUMSQ:
            x = x * x
        top[0].data[...] = x.sum(axis=-1) * self._factor(shape)

    def backward(self, run: Run, top: Blobs, bottom: Blobs) -> None:
        """The item's diff spread over its elements."""
        if bottom[0].diff is None:
            return
        shape = bottom[0].shape
        after = (1,) * (len(shape) - self.first)
        dy = top_diff(run.xp, top[0]).reshape(*shape[: self.first], *after)
        slope = self._slope(run.xp, bottom[0].data)
        bottom[0].diff[...] = dy * self._factor(shape) * slope

    def _factor(self, shape: tuple[int, ...]) -> float:
        coeff = float(self.spec.reduction_param.coeff)
        return coeff / count(shape[self.first :]) if self.kind == MEAN else coeff

    def _slope(self, xp: ArrayModule, x: Array) -> Array | int:
        if self.kind == ASUM:
            return xp.sign(x)  # type: ignore[no-any-return]  # xp is Any
        return 2 * x if self.kind == SUMSQ else 1
