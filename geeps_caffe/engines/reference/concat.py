"""Concat: bottoms one after the other along an axis.

Where each bottom ends is saved: of bottoms whose diff nobody asks for, backward has
no shapes.
"""

from geeps_caffe.device.array import Array, ArrayModule
from geeps_caffe.engines.engine import SavedArray
from geeps_caffe.engines.operations import Concat
from geeps_caffe.engines.reference.definition import Definition, Ports, Shapes


def _bottoms(ports: Ports | Shapes) -> list[str]:
    """bottom0, bottom1, ... as many as there are."""
    kinds = [name for name in ports if name.startswith("bottom") and "." not in name]
    return sorted(kinds, key=lambda name: int(name.removeprefix("bottom")))


def _piece(whole: Array, axis: int, begin: int, end: int) -> Array:
    return whole[(slice(None),) * axis + (slice(begin, end),)]


def forward(operation: Concat, xp: ArrayModule, ports: Ports) -> None:
    """Copy each bottom to its place in top0."""
    del xp
    end = 0
    for i, name in enumerate(_bottoms(ports)):
        begin, end = end, end + ports[name].shape[operation.axis]
        _piece(ports["top0"], operation.axis, begin, end)[...] = ports[name]
        if "saved0" in ports:
            ports["saved0"][i] = end


def backward(operation: Concat, xp: ArrayModule, ports: Ports) -> None:
    """Copy each place of top0.diff back."""
    del xp
    begin = 0
    for i, end in enumerate(ports["saved0"].tolist()):
        if f"bottom{i}.diff" in ports:
            piece = _piece(ports["top0.diff"], operation.axis, begin, end)
            ports[f"bottom{i}.diff"][...] = piece
        begin = end


def saved(operation: Concat, shapes: Shapes, itemsize: int) -> tuple[SavedArray, ...]:
    """Where each bottom ends along the axis."""
    del operation, itemsize
    bottoms = len(_bottoms(shapes))
    return (SavedArray(4 * bottoms, (bottoms,), "int32"),)


DEFINITION = Definition(forward, backward, frozenset(), saved)
