"""Slice: parts of the bottom along an axis."""

from itertools import pairwise

from geeps_caffe.device.array import Array, ArrayModule
from geeps_caffe.engines.operations import Slice
from geeps_caffe.engines.reference.definition import Definition, Ports


def _parts(operation: Slice, whole: Array) -> list[Array]:
    before = (slice(None),) * operation.axis
    return [
        whole[(*before, slice(begin, end))] for begin, end in pairwise(operation.cuts)
    ]


def forward(operation: Slice, xp: ArrayModule, ports: Ports) -> None:
    """Copy each part to its top."""
    del xp
    for i, part in enumerate(_parts(operation, ports["bottom0"])):
        ports[f"top{i}"][...] = part


def backward(operation: Slice, xp: ArrayModule, ports: Ports) -> None:
    """Copy each top's diff back."""
    del xp
    if "bottom0.diff" in ports:
        for i, part in enumerate(_parts(operation, ports["bottom0.diff"])):
            part[...] = ports[f"top{i}.diff"]


DEFINITION = Definition(forward, backward, frozenset())
