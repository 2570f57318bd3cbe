"""The Sigmoid layer."""

from geeps_caffe.engines.operations import Activation
from geeps_caffe.layers.neuron import Neuron


class Sigmoid(Neuron):
    """y = 1 / (1 + exp(-x)). May run in place."""

    type_name = "Sigmoid"

    def operation(self) -> Activation:
        """All of it."""
        return Activation("sigmoid")
