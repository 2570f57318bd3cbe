"""Tile: copies of the bottom along an axis."""

from geeps_caffe.device.array import Array, ArrayModule
from geeps_caffe.engines.operations import Tile
from geeps_caffe.engines.reference.definition import Definition, Ports


def _copies(operation: Tile, whole: Array, part: Array) -> Array:
    """The tiled array with the number of the copy as an axis of its own."""
    axis, shape = operation.axis, part.shape
    return whole.reshape((*shape[:axis], operation.tiles, *shape[axis:]))


def forward(operation: Tile, xp: ArrayModule, ports: Ports) -> None:
    """Copy."""
    x = ports["bottom0"]
    _copies(operation, ports["top0"], x)[...] = xp.expand_dims(x, operation.axis)


def backward(operation: Tile, xp: ArrayModule, ports: Ports) -> None:
    """Add the copies up."""
    del xp
    if "bottom0.diff" in ports:
        dx = ports["bottom0.diff"]
        copies = _copies(operation, ports["top0.diff"], dx)
        copies.sum(axis=operation.axis, out=dx)


DEFINITION = Definition(forward, backward, frozenset())
