"""Activated: an operation and an element-wise function of its top."""

from collections.abc import Mapping

from geeps_caffe.device.array import ArrayModule
from geeps_caffe.engines.operations import Activated
from geeps_caffe.engines.reference import activation
from geeps_caffe.engines.reference.definition import Definition, Ports


def definition(of: Mapping[type, Definition]) -> Definition:
    """The definition, given those of the operations that may be activated."""

    def forward(operation: Activated, xp: ArrayModule, ports: Ports) -> None:
        """One after the other, the second in place."""
        first = operation.operation
        of[type(first)].forward(first, xp, ports)
        top = ports["top0"]
        activation.forward(operation.activation, xp, {"bottom0": top, "top0": top})

    return Definition(forward, _backward, frozenset())


def _backward(operation: Activated, xp: ArrayModule, ports: Ports) -> None:
    raise NotImplementedError("the gradient of Activated is that of its parts")
