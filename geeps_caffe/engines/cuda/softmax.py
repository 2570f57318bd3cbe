"""Softmax: a block for each row, or a thread where classes are not side by side."""

from geeps_caffe.device.array import Array
from geeps_caffe.device.kernels import Call
from geeps_caffe.engines.cuda.kit import Entry, Pass, split

FILE = "softmax.cu"


def _bind(work: Pass, name: str, *arrays: Array) -> list[Call]:
    outer, classes, inner = split(arrays[0].shape, work.operation.axis)
    if inner == 1:
        return [work.kernel(FILE, f"{name}_rows", outer, *arrays, classes)]
    return [work.kernel(FILE, name, outer * inner, *arrays, classes, inner)]


def forward(work: Pass) -> list[Call]:
    """top0 = exponentials that sum to 1."""
    return _bind(work, "softmax_forward", work.ports["bottom0"], work.ports["top0"])


def backward(work: Pass) -> list[Call]:
    """bottom0.diff = (top0.diff - sum of top0.diff top0) top0."""
    ports = (work.ports[p] for p in ("top0", "top0.diff", "bottom0.diff"))
    return _bind(work, "softmax_backward", *ports)


ENTRY = Entry(forward, backward)
