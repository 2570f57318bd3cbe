"""BatchNorm, the Scale behind it and a ReLU behind that become one operation.

    forward bn, forward scale, forward relu  ->  forward bn

The values between them are not made; nobody else may ask for them. Behind a Filter or a
Python layer, whose tops' shapes are known only at run time, no layer is an operation.
"""

from dataclasses import replace

from geeps_caffe.engines.engine import Engine, Request
from geeps_caffe.engines.operations import Activation, BatchNorm, Scale, ScaledBatchNorm
from geeps_caffe.graph.graph import Graph, Node
from geeps_caffe.layers.merged import Merged
from geeps_caffe.schedule.program import Options


def merge_norms(graph: Graph, engine: Engine, options: Options) -> Graph:
    """The graph with every such row of layers merged, where the engine can do that."""
    readers = {value: node for node in graph.nodes for value in node.bottoms}
    dynamic, merged = graph.dynamic, dict[int, Node]()
    gone: set[int] = set()
    for node in graph.nodes:
        fixed = dynamic.isdisjoint(node.bottoms)
        row = _row(node, readers, options) if fixed else []
        whole = _merge(row) if row else None
        if whole is not None and _offered(whole, graph, engine, options):
            merged[node.index] = whole
            gone |= {other.index for other in row[1:]}
    nodes = (merged.get(n.index, n) for n in graph.nodes if n.index not in gone)
    return replace(graph, nodes=tuple(nodes))


def _row(node: Node, readers: dict[str, Node], options: Options) -> list[Node]:
    """A BatchNorm, its Scale, and the ReLU if there is one; else nothing."""
    if not isinstance(node.layer.operation(), BatchNorm):
        return []
    row = [node]
    scale = _behind(node, readers, options)
    if scale is None or not isinstance(scale.layer.operation(), Scale):
        return []
    row.append(scale)
    relu = _behind(scale, readers, options)
    if relu is not None and relu.layer.operation() == Activation("relu"):
        row.append(relu)
    return row


def _behind(node: Node, readers: dict[str, Node], options: Options) -> Node | None:
    """The only reader of a node's top, if nothing but that depends on it."""
    (value,) = node.tops
    reader = readers.get(value)
    if reader is None or len(reader.bottoms) > 1 or any(node.loss_weights):
        return None
    if value in options.keep or reader.layer.spec.propagate_down:
        return None
    return reader


def _merge(row: list[Node]) -> Node | None:
    first, scale, last = row[0], row[1], row[-1]
    norm, factor = first.layer.operation(), scale.layer.operation()
    assert isinstance(norm, BatchNorm) and isinstance(factor, Scale)
    operation = ScaledBatchNorm(norm, factor.bias, relu=len(row) > 2)
    return replace(
        first,
        layer=Merged(first.layer, operation),
        tops=last.tops,
        params=first.params + scale.params,
        param_shapes=first.param_shapes + scale.param_shapes,
        loss_weights=last.loss_weights,
        needs_backward=any(node.needs_backward for node in row),
        learns=first.learns + scale.learns,
    )


def _offered(node: Node, graph: Graph, engine: Engine, options: Options) -> bool:
    """Whether the engine has the operation for these shapes."""
    operation = node.layer.operation()
    assert operation is not None
    shapes = {"bottom0": graph.values[node.bottoms[0]].shape}
    shapes |= {"top0": graph.values[node.tops[0]].shape}
    shapes |= {f"param{i}": shape for i, shape in enumerate(node.param_shapes)}
    request = Request(operation, "forward", shapes, {}, options.dtype, options.backward)
    return engine.describe(request) is not None
