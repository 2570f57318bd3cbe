"""LRN within channels; the scales are saved."""

from geeps_caffe.device.kernels import Call
from geeps_caffe.engines.cuda.kit import Entry, Pass

FILE = "lrn_within.cu"


def forward(work: Pass) -> list[Call]:
    """top0 = bottom0 / scale ** beta."""
    x, y, op = work.ports["bottom0"], work.ports["top0"], work.operation
    rest = (op.size, *x.shape[-2:], op.alpha / op.size**2, op.beta)
    if "saved0" not in work.ports:
        return [work.kernel(FILE, "lrn_within_test", x.size, x, y, *rest)]
    scale = work.ports["saved0"]
    return [work.kernel(FILE, "lrn_within_forward", x.size, x, scale, y, *rest)]


def backward(work: Pass) -> list[Call]:
    """Through the value itself, and through its neighbours' scales."""
    x, dy, dx = (work.ports[p] for p in ("bottom0", "top0.diff", "bottom0.diff"))
    op = work.operation
    factor = 2 * op.alpha * op.beta / op.size**2
    args = (x, dy, work.ports["saved0"], dx, op.size, *x.shape[-2:], factor, op.beta)
    return [work.kernel(FILE, "lrn_within_backward", x.size, *args)]


ENTRY = Entry(forward, backward)
