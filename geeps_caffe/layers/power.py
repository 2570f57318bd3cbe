"""The Power layer."""

from geeps_caffe.device.array import Shapes
from geeps_caffe.layers.base import Blobs, Run, SavedSpec
from geeps_caffe.layers.neuron import InputNeuron


class Power(InputNeuron):
    """y = (shift + scale * x) ** power. May run in place."""

    type_name = "Power"

    def setup(self, bottom: Shapes) -> None:
        """Read power, scale and shift; a line or constant needs no input later."""
        del bottom
        param = self.spec.power_param
        self.power, self.scale, self.shift = param.power, param.scale, param.shift
        self.slope = self.power * self.scale
        self.straight = self.slope == 0 or self.power == 1
        if self.straight:
            self.declare_reads()
        else:
            self.read_input()

    def saved_specs(self, bottom: Shapes) -> list[SavedSpec]:
        """A copy of the input where backward needs it."""
        return [] if self.straight else super().saved_specs(bottom)

    def forward(self, run: Run, bottom: Blobs, top: Blobs) -> None:
        """The powers; a constant is shift ** power whatever x is."""
        if self.slope == 0:
            top[0].data.fill(self.shift)
            top[0].data[...] **= self.power
            return
        if not self.straight:
            self.save_input(run, bottom)
        line = self.scale * bottom[0].data + self.shift
        top[0].data[...] = line if self.power == 1 else line**self.power

    def backward(self, run: Run, top: Blobs, bottom: Blobs) -> None:
        """dy/dx = power * scale * (shift + scale * x) ** (power - 1)."""
        if bottom[0].diff is None:
            return
        if self.straight:
            bottom[0].diff[...] = top[0].diff * self.slope if self.slope else 0
            return
        line = self.scale * self.input(run, bottom) + self.shift
        rate = line if self.power == 2 else line ** (self.power - 1)
        bottom[0].diff[...] = top[0].diff * rate * self.slope
