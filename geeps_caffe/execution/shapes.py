"""Shapes that are known only when a layer has run: Filter's, for example.

The plan holds an upper bound for them; what lies behind such a layer runs on the
first elements of its arrays.
"""

from collections.abc import Sequence

from geeps_caffe.device.array import Shape
from geeps_caffe.graph.graph import Graph, Node
from geeps_caffe.layers.base import Blob, Run, saved_of_operation


class RunTimeShapes:
    """The present shapes of a graph's dynamic values."""

    def __init__(self, graph: Graph, dynamic: frozenset[str]) -> None:
        self._graph, self._dynamic = graph, dynamic
        self._found: dict[str, Shape] = {}

    def varies(self, node: Node) -> bool:
        """Whether any of a node's values has no fixed shape."""
        return any(v in self._dynamic for v in (*node.bottoms, *node.tops))

    def of(self, value: str) -> Shape:
        """The shape of a value in this pass; the bound before its layer has run."""
        entry = self._graph.values[value]
        if value not in self._dynamic:
            return entry.shape
        node = self._graph.nodes[entry.source]
        if node.layer.shares:  # a view has no instruction of its own
            tops = node.layer.infer_shapes([self.of(v) for v in node.bottoms])
            return tuple(tops[node.tops.index(value)])
        return self._found.get(value, entry.shape)

    def set(self, node: Node, top: Sequence[Blob]) -> None:
        """Note what shapes a layer gave its tops."""
        for value, blob in zip(node.tops, top, strict=True):
            self._found[value] = blob.shape

    def saved(
        self, node: Node, bottom: Sequence[Shape], top: Sequence[Shape], run: Run
    ) -> list[Shape]:
        """The shapes of a layer's saved arrays at these shapes of its blobs."""
        operation = node.layer.operation()
        if operation is None:
            return [spec.shape for spec in node.layer.saved_specs(bottom)]
        ports = {f"bottom{i}": s for i, s in enumerate(bottom)}
        ports |= {f"top{i}": s for i, s in enumerate(top)}
        dtype = run.xp.dtype("float32")
        return [spec.shape for spec in saved_of_operation(operation, ports, dtype)]
