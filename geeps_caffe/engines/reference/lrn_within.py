"""LRNWithin: each value over a power of the squares of the pixels around it."""

from geeps_caffe.device.array import Array, ArrayModule
from geeps_caffe.engines.engine import SavedArray
from geeps_caffe.engines.operations import AveragePooling, LRNWithin
from geeps_caffe.engines.reference import average_pooling
from geeps_caffe.engines.reference.definition import Definition, Ports, Shapes
from geeps_caffe.engines.reference.saved import floats


def _window(operation: LRNWithin) -> AveragePooling:
    size = operation.size
    return AveragePooling((size, size), (1, 1), (size // 2, size // 2))


def _mean(operation: LRNWithin, xp: ArrayModule, x: Array) -> Array:
    """The mean around each pixel; its own gradient, since windows are symmetric."""
    mean: Array = xp.empty_like(x)
    average_pooling.forward(_window(operation), xp, {"bottom0": x, "top0": mean})
    return mean


def forward(operation: LRNWithin, xp: ArrayModule, ports: Ports) -> None:
    """top0 = bottom0 / scale ** beta."""
    x = ports["bottom0"]
    scale = 1 + operation.alpha * _mean(operation, xp, x * x)
    if "saved0" in ports:
        ports["saved0"][...] = scale
    ports["top0"][...] = x * scale**-operation.beta


def backward(operation: LRNWithin, xp: ArrayModule, ports: Ports) -> None:
    """Through the value itself, and through its neighbours' scales."""
    x, dy, scale = ports["bottom0"], ports["top0.diff"], ports["saved0"]
    direct = dy * scale**-operation.beta
    shares = _mean(operation, xp, direct * x / scale)
    factor = 2 * operation.alpha * operation.beta
    ports["bottom0.diff"][...] = direct - factor * x * shares


def saved(operation: LRNWithin, shapes: Shapes, itemsize: int) -> tuple[SavedArray]:
    """The scales."""
    del operation
    return (floats(shapes["bottom0"], itemsize),)


DEFINITION = Definition(forward, backward, frozenset({"bottom"}), saved)
