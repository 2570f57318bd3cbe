"""The TanH layer."""

from geeps_caffe.engines.operations import Activation
from geeps_caffe.layers.neuron import Neuron


class TanH(Neuron):
    """y = tanh(x). May run in place."""

    type_name = "TanH"

    def operation(self) -> Activation:
        """All of it."""
        return Activation("tanh")
