"""LRN: each value over a power of the squares in the neighbouring channels."""

from geeps_caffe.device.array import Array, ArrayModule
from geeps_caffe.engines.engine import SavedArray
from geeps_caffe.engines.operations import LRN
from geeps_caffe.engines.reference.definition import Definition, Ports, Shapes
from geeps_caffe.engines.reference.saved import floats


def _sum_neighbours(xp: ArrayModule, x: Array, size: int) -> Array:
    """For each channel the sum over `size` channels around it; outside is zero."""
    half = size // 2
    total = x.copy()
    for distance in range(1, min(half, x.shape[1] - 1) + 1):
        total[:, distance:] += x[:, :-distance]
        total[:, :-distance] += x[:, distance:]
    return total


def _scale(operation: LRN, xp: ArrayModule, x: Array) -> Array:
    squares = _sum_neighbours(xp, x * x, operation.size)
    return operation.k + operation.alpha / operation.size * squares


def forward(operation: LRN, xp: ArrayModule, ports: Ports) -> None:
    """top0 = bottom0 / scale ** beta."""
    x = ports["bottom0"]
    scale = _scale(operation, xp, x)
    if "saved0" in ports:
        ports["saved0"][...] = scale
    ports["top0"][...] = x * scale**-operation.beta


def backward(operation: LRN, xp: ArrayModule, ports: Ports) -> None:
    """Through the value itself, and through its neighbours' scales."""
    x, dy, scale = ports["bottom0"], ports["top0.diff"], ports["saved0"]
    direct = dy * scale**-operation.beta
    ratio = _sum_neighbours(xp, direct * x / scale, operation.size)
    factor = 2 * operation.alpha * operation.beta / operation.size
    ports["bottom0.diff"][...] = direct - factor * x * ratio


def saved(operation: LRN, shapes: Shapes, itemsize: int) -> tuple[SavedArray, ...]:
    """The scales."""
    del operation
    return (floats(shapes["bottom0"], itemsize),)


DEFINITION = Definition(forward, backward, frozenset({"bottom"}), saved)
