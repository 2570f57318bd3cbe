"""What a node's backward pass reads, and how engines are asked for it."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from geeps_caffe.device.array import Shape
from geeps_caffe.engines.engine import Layout, Request
from geeps_caffe.engines.reference import DEFINITIONS
from geeps_caffe.graph.graph import Node


def code_reads(node: Node) -> set[str]:
    """The ports of data that a node's own backward code reads."""
    operation = node.layer.operation()
    declared = (
        node.layer.backward_reads
        if operation is None
        else DEFINITIONS[type(operation)].reads
    )
    ports = set()
    for kind, values in (("bottom", node.bottoms), ("top", node.tops)):
        for i in range(len(values)):
            if kind in declared or f"{kind}{i}" in declared:
                ports.add(f"{kind}{i}")
    return ports


def backward_request(
    node: Node,
    shape_of: Callable[[str], Shape],
    request: Request,
    given: Mapping[str, Layout],
) -> Request:
    """The backward pass as engines are asked for it, for gradients that are wanted."""
    shapes = dict(request.shapes)
    for i, value in enumerate(node.tops):
        shapes[f"top{i}.diff"] = shape_of(value)
    for i, (value, wanted) in enumerate(zip(node.bottoms, node.propagate, strict=True)):
        if wanted:
            shapes[f"bottom{i}.diff"] = shape_of(value)
    for i, wanted in enumerate(node.learns):
        if wanted:
            shapes[f"param{i}.diff"] = node.param_shapes[i]
    return Request(
        request.operation,
        "backward",
        shapes,
        dict(given),
        request.dtype,
        True,
        request.parts,
    )


def of_whole_batch(request: Request) -> Request:
    """Without parts where a backward pass makes params' gradients: those are sums."""
    return replace(request, parts=0) if request.sums else request
