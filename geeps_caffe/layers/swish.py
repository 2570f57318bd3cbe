"""The Swish layer."""

from geeps_caffe.device.array import Shapes
from geeps_caffe.layers.base import Blobs, Run, SavedSpec
from geeps_caffe.layers.logistic import logistic
from geeps_caffe.layers.neuron import Neuron


class Swish(Neuron):
    """y = x * sigmoid(beta * x). May run in place; the sigmoid is saved."""

    type_name = "Swish"
    backward_reads = frozenset({"top"})

    def saved_specs(self, bottom: Shapes) -> list[SavedSpec]:
        """The sigmoid."""
        return [SavedSpec(bottom[0])]

    def forward(self, run: Run, bottom: Blobs, top: Blobs) -> None:
        """x times its gate."""
        x, gate = bottom[0].data, run.saved[0]
        gate[...] = logistic(run.xp, self.spec.swish_param.beta * x)
        top[0].data[...] = x * gate

    def backward(self, run: Run, top: Blobs, bottom: Blobs) -> None:
        """dy/dx = beta y + sigmoid (1 - beta y)."""
        if bottom[0].diff is not None:
            slope = self.spec.swish_param.beta * top[0].data
            bottom[0].diff[...] = top[0].diff * (slope + run.saved[0] * (1 - slope))
