"""BatchNorm: Caffe's, over all axes but that of the channels (1; none in 1-d).

The normalized values and the deviations are saved, so that a layer after it may run
in place.
"""

from geeps_caffe.device.array import Array, ArrayModule, Shape, count
from geeps_caffe.engines.engine import SavedArray
from geeps_caffe.engines.operations import BatchNorm
from geeps_caffe.engines.reference.definition import Definition, Ports, Shapes
from geeps_caffe.engines.reference.saved import floats


def channels(shape: Shape) -> int:
    """The extent of axis 1; 1 where there is none."""
    return 1 if len(shape) == 1 else shape[1]


def by_channel(x: Array) -> Array:
    """A view (N, C, pixels)."""
    return x.reshape(x.shape[0], channels(x.shape), count(x.shape[2:]))


def _stored(ports: Ports) -> tuple[Array, Array]:
    """Mean and variance: the stored sums over their common factor, 0 if that is 0."""
    factor = float(ports["param2"].reshape(-1)[0])
    scale = 0.0 if factor == 0 else 1 / factor
    return ports["param0"].reshape(-1) * scale, ports["param1"].reshape(-1) * scale


def _update(operation: BatchNorm, ports: Ports, mean: Array, variance: Array) -> None:
    """Add the batch's statistics to the stored sums; the variance becomes unbiased."""
    per_channel = ports["bottom0"].size // mean.size
    unbiased = per_channel / (per_channel - 1) if per_channel > 1 else 1.0
    news: tuple[Array | float, ...] = (mean, unbiased * variance, 1.0)
    for i, new in enumerate(news):
        param = ports[f"param{i}"].reshape(-1)
        param *= operation.fraction
        param += new


def statistics(operation: BatchNorm, ports: Ports) -> tuple[Array, Array]:
    """Mean and variance to normalize with; those of a batch are added to the sums.

    A batch of no items, as a Filter may leave, has none.
    """
    if operation.global_stats or not ports["bottom0"].size:
        return _stored(ports)
    x = by_channel(ports["bottom0"])
    mean: Array = x.mean(axis=(0, 2))
    centred = x - mean[:, None]
    variance: Array = (centred * centred).mean(axis=(0, 2))
    _update(operation, ports, mean, variance)
    return mean, variance


def forward(operation: BatchNorm, xp: ArrayModule, ports: Ports) -> None:
    """top0 = (bottom0 - mean) / sqrt(variance + eps)."""
    x, y = by_channel(ports["bottom0"]), by_channel(ports["top0"])
    mean, variance = statistics(operation, ports)
    deviation = xp.sqrt(variance + operation.eps)
    y[...] = (x - mean[:, None]) / deviation[:, None]
    if "saved0" in ports:
        ports["saved0"][...] = deviation
    if "saved1" in ports:
        ports["saved1"][...] = ports["top0"]


def backward(operation: BatchNorm, xp: ArrayModule, ports: Ports) -> None:
    """Through the statistics too, unless they are the stored ones."""
    del xp
    dx, dy = by_channel(ports["bottom0.diff"]), by_channel(ports["top0.diff"])
    deviation = ports["saved0"][:, None]
    if not dy.size:
        return
    if operation.global_stats:
        dx[...] = dy / deviation
        return
    y = by_channel(ports["saved1"])
    mean = dy.mean(axis=(0, 2))[:, None]
    along = (dy * y).mean(axis=(0, 2))[:, None]
    dx[...] = (dy - mean - along * y) / deviation


def saved(
    operation: BatchNorm, shapes: Shapes, itemsize: int
) -> tuple[SavedArray, ...]:
    """The deviations (C,), and the normalized values unless statistics are stored."""
    shape = shapes["bottom0"]
    deviations = floats((channels(shape),), itemsize)
    values = () if operation.global_stats else (floats(shape, itemsize),)
    return (deviations, *values)


DEFINITION = Definition(forward, backward, frozenset(), saved)
