"""Softmax: exponentials that sum to 1 along an axis."""

from geeps_caffe.device.array import ArrayModule
from geeps_caffe.engines.operations import Softmax
from geeps_caffe.engines.reference.definition import Definition, Ports


def forward(operation: Softmax, xp: ArrayModule, ports: Ports) -> None:
    """The largest value is taken off first, so that no exponential overflows."""
    x, y = ports["bottom0"], ports["top0"]
    xp.subtract(x, x.max(axis=operation.axis, keepdims=True), out=y)
    xp.exp(y, out=y)
    y /= y.sum(axis=operation.axis, keepdims=True)


def backward(operation: Softmax, xp: ArrayModule, ports: Ports) -> None:
    """bottom0.diff = (top0.diff - sum of top0.diff top0) top0."""
    y, dy = ports["top0"], ports["top0.diff"]
    mean = (dy * y).sum(axis=operation.axis, keepdims=True)
    xp.multiply(dy - mean, y, out=ports["bottom0.diff"])


DEFINITION = Definition(forward, backward, frozenset({"top"}))
