"""The sources of a net's records, and where they stand."""

from typing import Any

from geeps_caffe.graph.graph import Graph
from geeps_caffe.layers.source import SourceLayer


class Sources:
    """The source layers of a graph, by layer name."""

    def __init__(self, graph: Graph) -> None:
        self._layers = {
            node.name: node.layer
            for node in graph.nodes
            if isinstance(node.layer, SourceLayer)
        }

    def __bool__(self) -> bool:
        return bool(self._layers)

    def first(self) -> tuple[int, int | None] | None:
        """Records of this worker in a batch, and of the source; None without one."""
        for layer in self._layers.values():
            return layer.reader.sampler.share.batch, layer.length
        return None

    def waited(self) -> float:
        """Seconds for which the run has waited for records."""
        return sum(layer.reader.waited for layer in self._layers.values())

    def positions(self) -> dict[str, Any]:
        """Where each source stands."""
        return {name: layer.position() for name, layer in self._layers.items()}

    def restore(self, positions: dict[str, Any]) -> list[str]:
        """Put the sources where a snapshot found them; returns what there is to say."""
        said = [
            layer.restore(positions[name])
            for name, layer in self._layers.items()
            if name in positions
        ]
        return [text for text in said if text]
