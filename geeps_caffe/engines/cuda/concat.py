"""Concat: a strided copy for each bottom."""

from collections.abc import Iterator

from geeps_caffe.device.array import Shape
from geeps_caffe.device.kernels import Call
from geeps_caffe.engines.cuda.kit import Entry, Pass, split
from geeps_caffe.engines.engine import Request

FILE = "concat.cu"


def _parts(request: Request) -> Iterator[tuple[int, int, int]]:
    """For each bottom its first element and its extent in a row of the top; rows.

    The request names all bottoms, with or without data: one whose gradient nobody
    asks for takes its place in the top all the same.
    """
    start = index = 0
    axis = request.operation.axis  # type: ignore[union-attr]
    while (shape := _shape(request, index)) is not None:
        rows, extent, inner = split(shape, axis)
        yield start, extent * inner, rows
        start, index = start + extent * inner, index + 1


def _shape(request: Request, index: int) -> Shape | None:
    name = f"bottom{index}"
    return request.shapes.get(name) or request.shapes.get(f"{name}.diff")


def _row(request: Request) -> int:
    return sum(width for _, width, _ in _parts(request))


def forward(work: Pass) -> list[Call]:
    """Copy each bottom to its place in top0."""
    top, row = work.ports["top0"].reshape(-1), _row(work.request)
    return [
        work.kernel(FILE, "copy_rows", rows * width, x, width, top[start:], row, width)
        for i, (start, width, rows) in enumerate(_parts(work.request))
        if (x := work.ports[f"bottom{i}"]) is not None
    ]


def backward(work: Pass) -> list[Call]:
    """Copy each place of top0.diff back."""
    top, row = work.ports["top0.diff"].reshape(-1), _row(work.request)
    return [
        work.kernel(FILE, "copy_rows", rows * width, top[start:], row, dx, width, width)
        for i, (start, width, rows) in enumerate(_parts(work.request))
        if (dx := work.ports.get(f"bottom{i}.diff")) is not None
    ]


ENTRY = Entry(forward, backward, saved=())
