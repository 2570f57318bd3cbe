"""Crop: a window of the bottom."""

from geeps_caffe.device.array import Array, ArrayModule
from geeps_caffe.engines.operations import Crop
from geeps_caffe.engines.reference.definition import Definition, Ports


def _window(operation: Crop, whole: Array, part: Array) -> Array:
    ends = zip(operation.corner, part.shape, strict=True)
    return whole[tuple(slice(begin, begin + extent) for begin, extent in ends)]


def forward(operation: Crop, xp: ArrayModule, ports: Ports) -> None:
    """Copy the window."""
    del xp
    top = ports["top0"]
    top[...] = _window(operation, ports["bottom0"], top)


def backward(operation: Crop, xp: ArrayModule, ports: Ports) -> None:
    """What was cut off gets zeros."""
    del xp
    if "bottom0.diff" in ports:
        dx, dy = ports["bottom0.diff"], ports["top0.diff"]
        dx[...] = 0
        _window(operation, dx, dy)[...] = dy


DEFINITION = Definition(forward, backward, frozenset())
