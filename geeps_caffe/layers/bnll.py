"""The BNLL layer."""

from geeps_caffe.layers.base import Blobs, Run
from geeps_caffe.layers.neuron import Neuron


class BNLL(Neuron):
    """y = log(1 + exp(x)), the binomial normal log likelihood.

    dy/dx = 1 / (1 + exp(-x)) = 1 - exp(-y), so it may run in place.
    """

    type_name = "BNLL"
    backward_reads = frozenset({"top"})

    def forward(self, run: Run, bottom: Blobs, top: Blobs) -> None:
        """Without overflow for large x."""
        xp, x = run.xp, bottom[0].data
        top[0].data[...] = xp.maximum(x, 0) + xp.log1p(xp.exp(-xp.abs(x)))

    def backward(self, run: Run, top: Blobs, bottom: Blobs) -> None:
        """The top's diff times 1 - exp(-y)."""
        if bottom[0].diff is not None:
            bottom[0].diff[...] = top[0].diff * -run.xp.expm1(-top[0].data)
