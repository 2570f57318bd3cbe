"""The Exp layer."""

import math

from geeps_caffe.device.array import Shapes
from geeps_caffe.layers.base import Blobs, Run
from geeps_caffe.layers.neuron import Neuron


class Exp(Neuron):
    """y = base ** (shift + scale * x); base -1 stands for e. May run in place."""

    type_name = "Exp"
    backward_reads = frozenset({"top"})

    def setup(self, bottom: Shapes) -> None:
        """Fold base, scale and shift into exp(rate * x) * factor."""
        del bottom
        param = self.spec.exp_param
        if param.base != -1 and not param.base > 0:
            self.fail(f"exp_param base {param.base:g} must be positive, or -1 for e")
        log_base = 1.0 if param.base == -1 else math.log(param.base)
        self.rate = log_base * param.scale
        self.factor = math.exp(log_base * param.shift)

    def forward(self, run: Run, bottom: Blobs, top: Blobs) -> None:
        """The powers of the base."""
        top[0].data[...] = run.xp.exp(self.rate * bottom[0].data) * self.factor

    def backward(self, run: Run, top: Blobs, bottom: Blobs) -> None:
        """dy/dx = rate * y."""
        del run
        if bottom[0].diff is not None:
            bottom[0].diff[...] = top[0].diff * top[0].data * self.rate
