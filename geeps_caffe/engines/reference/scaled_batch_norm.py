"""ScaledBatchNorm: BatchNorm, Scale and perhaps ReLU as one.

The bottom stays as it is, so backward makes the normalized values of it anew.
"""

from geeps_caffe.device.array import Array, ArrayModule, count
from geeps_caffe.engines.engine import SavedArray
from geeps_caffe.engines.operations import ScaledBatchNorm
from geeps_caffe.engines.reference.batch_norm import by_channel, channels, statistics
from geeps_caffe.engines.reference.definition import Definition, Ports, Shapes
from geeps_caffe.engines.reference.saved import floats


def forward(operation: ScaledBatchNorm, xp: ArrayModule, ports: Ports) -> None:
    """top0 = the normalized bottom0 times param3, plus param4, no less than 0."""
    x, y = by_channel(ports["bottom0"]), by_channel(ports["top0"])
    mean, variance = statistics(operation.norm, ports)
    deviation = xp.sqrt(variance + operation.norm.eps)
    y[...] = (x - mean[:, None]) * (ports["param3"].reshape(-1) / deviation)[:, None]
    if operation.bias:
        y += ports["param4"].reshape(-1, 1)
    if operation.relu:
        xp.maximum(y, 0, out=y)
    if "saved0" in ports:
        ports["saved0"][...], ports["saved1"][...] = mean, deviation
    if operation.relu and "saved2" in ports:
        ports["saved2"][...] = ports["top0"] > 0


def backward(operation: ScaledBatchNorm, xp: ArrayModule, ports: Ports) -> None:
    """Through the statistics too, unless they are the stored ones."""
    dy = by_channel(ports["top0.diff"])
    if operation.relu:
        dy = dy * by_channel(ports["saved2"])
    deviation = ports["saved1"][:, None]
    x = (by_channel(ports["bottom0"]) - ports["saved0"][:, None]) / deviation
    if "param4.diff" in ports:
        ports["param4.diff"].reshape(-1)[...] = dy.sum(axis=(0, 2))
    if "param3.diff" in ports:
        ports["param3.diff"].reshape(-1)[...] = (dy * x).sum(axis=(0, 2))
    if "bottom0.diff" in ports:
        slope = ports["param3"].reshape(-1, 1) / deviation
        dx = dy if operation.norm.global_stats else _centred(dy, x)
        by_channel(ports["bottom0.diff"])[...] = slope * dx


def _centred(dy: Array, x: Array) -> Array:
    """Without what the statistics take away: the mean, and what lies along x."""
    mean = dy.mean(axis=(0, 2))[:, None]
    along = (dy * x).mean(axis=(0, 2))[:, None]
    centred: Array = dy - mean - along * x
    return centred


def saved(
    operation: ScaledBatchNorm, shapes: Shapes, itemsize: int
) -> tuple[SavedArray, ...]:
    """Means and deviations (C,), and where the top is above 0."""
    shape = shapes["bottom0"]
    kept = (floats((channels(shape),), itemsize),) * 2
    if not operation.relu:
        return kept
    size = count(shape)
    return (*kept, SavedArray(size, shape, "uint8"))


DEFINITION = Definition(forward, backward, frozenset({"bottom", "param3"}), saved)
