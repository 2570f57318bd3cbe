"""Sum: a weighted sum of equal shapes."""

from geeps_caffe.device.array import ArrayModule
from geeps_caffe.engines.operations import Sum
from geeps_caffe.engines.reference.definition import Definition, Ports


def forward(operation: Sum, xp: ArrayModule, ports: Ports) -> None:
    """top0 = the sum of coefficient times bottom."""
    y = ports["top0"]
    xp.multiply(ports["bottom0"], operation.coefficients[0], out=y)
    for i, coefficient in enumerate(operation.coefficients[1:], start=1):
        x = ports[f"bottom{i}"]
        y += x if coefficient == 1 else coefficient * x


def backward(operation: Sum, xp: ArrayModule, ports: Ports) -> None:
    """Each bottom's diff is the top's times its coefficient."""
    for i, coefficient in enumerate(operation.coefficients):
        if f"bottom{i}.diff" in ports:
            dx = ports[f"bottom{i}.diff"]
            xp.multiply(ports["top0.diff"], coefficient, out=dx)


DEFINITION = Definition(forward, backward, frozenset())
