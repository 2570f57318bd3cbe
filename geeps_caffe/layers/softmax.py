"""The Softmax layer."""

from geeps_caffe.device.array import Shapes
from geeps_caffe.engines import operations
from geeps_caffe.layers.neuron import Neuron


class Softmax(Neuron):
    """exp(x) over its sum along `axis`. May run in place."""

    type_name = "Softmax"

    def setup(self, bottom: Shapes) -> None:
        """Check the axis."""
        axis = self.spec.softmax_param.axis
        self.along = self.axis(axis, len(bottom[0]), "softmax_param axis")

    def operation(self) -> operations.Softmax:
        """All of it."""
        return operations.Softmax(self.along)
