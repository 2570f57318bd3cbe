"""The ReLU layer."""

from geeps_caffe.engines.operations import Activation
from geeps_caffe.layers.neuron import Neuron


class ReLU(Neuron):
    """y = x where x > 0, else negative_slope * x. May run in place."""

    type_name = "ReLU"

    def operation(self) -> Activation:
        """All of it."""
        return Activation("relu", self.spec.relu_param.negative_slope)
