"""Slice: a strided copy for each top."""

from itertools import pairwise

from geeps_caffe.device.array import Array
from geeps_caffe.device.kernels import Call
from geeps_caffe.engines.cuda.kit import Entry, Pass, split

FILE = "concat.cu"


def _places(work: Pass, whole: Array) -> tuple[int, int, list[tuple[int, int]]]:
    """Rows, the extent of one, and for each top its first element and extent in it."""
    rows, extent, inner = split(whole.shape, work.operation.axis)
    cuts = [cut * inner for cut in work.operation.cuts]
    return rows, extent * inner, [(a, b - a) for a, b in pairwise(cuts)]


def forward(work: Pass) -> list[Call]:
    """Copy each part to its top."""
    x = work.ports["bottom0"]
    rows, row, places = _places(work, x)
    flat, calls = x.reshape(-1), []
    for i, (start, width) in enumerate(places):
        args = (flat[start:], row, work.ports[f"top{i}"], width, width)
        calls.append(work.kernel(FILE, "copy_rows", rows * width, *args))
    return calls


def backward(work: Pass) -> list[Call]:
    """Copy each top's diff back."""
    dx = work.ports["bottom0.diff"]
    rows, row, places = _places(work, dx)
    flat, calls = dx.reshape(-1), []
    for i, (start, width) in enumerate(places):
        args = (work.ports[f"top{i}.diff"], width, flat[start:], row, width)
        calls.append(work.kernel(FILE, "copy_rows", rows * width, *args))
    return calls


ENTRY = Entry(forward, backward)
