"""The Log layer."""

import math

from geeps_caffe.device.array import Shapes
from geeps_caffe.layers.base import Blobs, Run
from geeps_caffe.layers.neuron import InputNeuron


class Log(InputNeuron):
    """y = log(shift + scale * x) to a base; base -1 stands for e. May run in place."""

    type_name = "Log"

    def setup(self, bottom: Shapes) -> None:
        """Read base, scale and shift."""
        super().setup(bottom)
        param = self.spec.log_param
        if param.base != -1 and (not param.base > 0 or param.base == 1):
            self.fail(
                f"log_param base {param.base:g} must be positive and not 1, or -1 for e"
            )
        self.log_base = 1.0 if param.base == -1 else math.log(param.base)
        self.scale, self.shift = param.scale, param.shift

    def forward(self, run: Run, bottom: Blobs, top: Blobs) -> None:
        """The logarithms; nan where the argument is negative, as in Caffe."""
        self.save_input(run, bottom)
        argument = self.scale * bottom[0].data + self.shift
        top[0].data[...] = run.xp.log(argument) / self.log_base

    def backward(self, run: Run, top: Blobs, bottom: Blobs) -> None:
        """dy/dx = scale / (log base * (shift + scale * x))."""
        if bottom[0].diff is None:
            return
        argument = self.scale * self.input(run, bottom) + self.shift
        bottom[0].diff[...] = top[0].diff * (self.scale / self.log_base) / argument
