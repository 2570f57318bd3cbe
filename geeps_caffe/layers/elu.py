"""The ELU layer."""

from geeps_caffe.engines.operations import Activation
from geeps_caffe.layers.neuron import Neuron


class ELU(Neuron):
    """y = x where x > 0, else alpha * (exp(x) - 1). May run in place."""

    type_name = "ELU"

    def operation(self) -> Activation:
        """All of it."""
        return Activation("elu", self.spec.elu_param.alpha)
