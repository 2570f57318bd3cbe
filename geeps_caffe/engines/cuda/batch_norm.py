"""BatchNorm: a block a channel for statistics, a thread an element for the rest."""

from geeps_caffe.device.array import Array
from geeps_caffe.device.kernels import Call
from geeps_caffe.engines.cuda.kit import Entry, Pass, by_channel
from geeps_caffe.engines.engine import Request

FILE = "batch_norm.cu"


def _scratch(request: Request) -> int:
    """Two numbers for each channel."""
    shape = request.shapes.get("bottom0") or request.shapes["bottom0.diff"]
    return 2 * 4 * by_channel(shape)[1]


def _pair(work: Pass, channels: int) -> tuple[Array, Array]:
    return work.workspace(0, channels), work.workspace(channels, channels)


def forward(work: Pass) -> list[Call]:
    """top0 = (bottom0 - mean) / sqrt(variance + eps)."""
    x, y, op = work.ports["bottom0"], work.ports["top0"], work.operation
    channels, pixels = by_channel(x.shape)[1:]
    mean, variance = _pair(work, channels)
    calls = _statistics(work, x, mean, variance)
    deviation = work.ports.get("saved0", variance)
    args = (variance, deviation, op.eps)
    calls.append(work.kernel(FILE, "batch_norm_deviation", channels, *args))
    place = (channels, pixels)
    if "saved1" in work.ports:
        keep = (x, mean, deviation, y, work.ports["saved1"], *place)
        calls.append(work.kernel(FILE, "batch_norm_forward_keep", x.size, *keep))
    else:
        plain = (x, mean, deviation, y, *place)
        calls.append(work.kernel(FILE, "batch_norm_forward", x.size, *plain))
    return calls


def _statistics(work: Pass, x: Array, mean: Array, variance: Array) -> list[Call]:
    """Those stored, or those of the batch, which are added to the stored ones."""
    params = [work.ports[f"param{i}"] for i in range(3)]
    op, (images, channels, pixels) = work.operation, by_channel(x.shape)
    if op.global_stats:
        args = (*params, mean, variance)
        return [work.kernel(FILE, "batch_norm_stored", channels, *args)]
    each = images * pixels
    unbiased = each / (each - 1) if each > 1 else 1.0
    batch = (x, mean, variance, images, pixels)
    store = (mean, variance, *params, op.fraction, unbiased)
    return [
        work.kernel(FILE, "batch_norm_statistics", channels, *batch),
        work.kernel(FILE, "batch_norm_store", channels, *store),
    ]


def backward(work: Pass) -> list[Call]:
    """Through the statistics too, unless they are the stored ones."""
    dy, dx = work.ports["top0.diff"], work.ports["bottom0.diff"]
    deviation = work.ports["saved0"]
    images, channels, pixels = by_channel(dy.shape)
    if work.operation.global_stats:
        args = (dy, deviation, dx, channels, pixels)
        return [work.kernel(FILE, "batch_norm_backward_stored", dy.size, *args)]
    (mean, along), y = _pair(work, channels), work.ports["saved1"]
    sums = (dy, y, mean, along, images, pixels)
    rest = (dy, y, mean, along, deviation, dx, channels, pixels)
    return [
        work.kernel(FILE, "batch_norm_diff_means", channels, *sums),
        work.kernel(FILE, "batch_norm_backward", dy.size, *rest),
    ]


ENTRY = Entry(forward, backward, _scratch)
