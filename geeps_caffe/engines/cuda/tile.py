"""Tile: copies forward, their sum backward."""

from math import prod

from geeps_caffe.device.kernels import Call
from geeps_caffe.engines.cuda.kit import Entry, Pass

FILE = "tile.cu"


def forward(work: Pass) -> list[Call]:
    """Copy."""
    x, y, op = work.ports["bottom0"], work.ports["top0"], work.operation
    args = (x, y, op.tiles, prod(x.shape[op.axis :]))
    return [work.kernel(FILE, "tile_forward", y.size, *args)]


def backward(work: Pass) -> list[Call]:
    """Add the copies up."""
    dx, dy, op = work.ports["bottom0.diff"], work.ports["top0.diff"], work.operation
    args = (dy, dx, op.tiles, prod(dx.shape[op.axis :]))
    return [work.kernel(FILE, "tile_backward", dx.size, *args)]


ENTRY = Entry(forward, backward)
