"""Scale: a factor and a summand for each channel."""

from geeps_caffe.device.array import ArrayModule
from geeps_caffe.engines.engine import SavedArray
from geeps_caffe.engines.operations import Scale
from geeps_caffe.engines.reference.batch_norm import by_channel
from geeps_caffe.engines.reference.definition import Definition, Ports, Shapes
from geeps_caffe.engines.reference.saved import floats


def forward(operation: Scale, xp: ArrayModule, ports: Ports) -> None:
    """top0 = bottom0 param0 + param1."""
    x, y = by_channel(ports["bottom0"]), by_channel(ports["top0"])
    if "saved0" in ports:
        ports["saved0"][...] = ports["bottom0"]
    xp.multiply(x, ports["param0"].reshape(-1, 1), out=y)
    if operation.bias:
        y += ports["param1"].reshape(-1, 1)


def backward(operation: Scale, xp: ArrayModule, ports: Ports) -> None:
    """Sums over all axes but that of the channels for the params."""
    del operation
    dy = by_channel(ports["top0.diff"])
    if "param1.diff" in ports:
        ports["param1.diff"].reshape(-1)[...] = dy.sum(axis=(0, 2))
    if "param0.diff" in ports:
        x = by_channel(ports["saved0"] if "saved0" in ports else ports["bottom0"])
        ports["param0.diff"].reshape(-1)[...] = (dy * x).sum(axis=(0, 2))
    if "bottom0.diff" in ports:
        dx = by_channel(ports["bottom0.diff"])
        xp.multiply(dy, ports["param0"].reshape(-1, 1), out=dx)


def saved(operation: Scale, shapes: Shapes, itemsize: int) -> tuple[SavedArray, ...]:
    """ScaleInPlace: the bottom."""
    del operation
    return (floats(shapes["bottom0"], itemsize),)


DEFINITION = Definition(forward, backward, frozenset({"bottom", "param"}))
IN_PLACE = Definition(forward, backward, frozenset({"param"}), saved)
