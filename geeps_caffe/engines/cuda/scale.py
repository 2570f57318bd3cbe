"""Scale: one kernel forward; sums by blocks for the params."""

from geeps_caffe.device.kernels import Call
from geeps_caffe.engines.cuda.kit import Entry, Pass, by_channel

FILE = "broadcast.cu"


def forward(work: Pass) -> list[Call]:
    """top0 = bottom0 param0 + param1."""
    x, y = work.ports["bottom0"], work.ports["top0"]
    place = by_channel(x.shape)[1:]
    factor, calls = work.ports["param0"], []
    if "saved0" in work.ports:
        copy = (x, work.ports["saved0"], 1.0)
        calls.append(work.kernel("weighted_sum.cu", "scaled_copy", x.size, *copy))
    if work.operation.bias:
        both = (x, factor, work.ports["param1"], y, *place)
        return [*calls, work.kernel(FILE, "scale_bias_forward", x.size, *both)]
    one = (x, factor, y, *place)
    return [*calls, work.kernel(FILE, "scale_forward", x.size, *one)]


def backward(work: Pass) -> list[Call]:
    """The bottom's diff last, since in place it is the top's."""
    ports, dy = work.ports, work.ports["top0.diff"]
    images, channels, pixels = by_channel(dy.shape)
    calls, over = [], (images, pixels)
    if (total := ports.get("param1.diff")) is not None:
        calls.append(work.kernel(FILE, "sum_over", channels, dy, total, *over))
    if (total := ports.get("param0.diff")) is not None:
        x = ports["saved0"] if "saved0" in ports else ports["bottom0"]
        args = (dy, x, total, *over)
        calls.append(work.kernel(FILE, "sum_products_over", channels, *args))
    if (dx := ports.get("bottom0.diff")) is not None:
        args = (dy, ports["param0"], dx, channels, pixels)
        calls.append(work.kernel(FILE, "scale_forward", dy.size, *args))
    return calls


ENTRY = Entry(forward, backward)
