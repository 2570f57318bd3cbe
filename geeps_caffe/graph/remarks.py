"""What a net may not mean, though Caffe computes it: a line for each kind."""

import logging
from collections.abc import Iterator

from geeps_caffe.graph.graph import Graph, Node
from geeps_caffe.graph.sequences import marker_source, of_clips
from geeps_caffe.layers.recurrent import Recurrent
from geeps_caffe.layers.source import SourceLayer

_LOG = logging.getLogger(__name__)


def remarks(graph: Graph) -> list[str]:
    """A sentence for each thing that layers remark, with the first that does."""
    layers: dict[str, list[str]] = {}
    for node in graph.nodes:
        for remark in node.layer.remarks():
            layers.setdefault(remark, []).append(node.title)
    for node in graph.nodes:
        for remark in _shared_steps(graph, node):
            layers.setdefault(remark, []).append(node.title)
    return [f"{_named(titles)}: {remark}" for remark, titles in layers.items()]


def _shared_steps(graph: Graph, node: Node) -> Iterator[str]:
    """Where records are time steps, and workers get every so many-th of them."""
    setting = node.layer.setting
    together = setting.ranks == 1 or setting.own_data or setting.whole_batches
    if not isinstance(node.layer, Recurrent) or together:
        return
    source = marker_source(graph, node)
    if isinstance(source.layer, SourceLayer) and not of_clips(source):
        yield (
            f"the records of {source.title} are its time steps, and {setting.ranks} "
            "workers share records out one by one, so none sees whole sequences; give "
            "each worker a file of its own (name.0, name.1, ...), or take one worker"
        )


def log_remarks(graph: Graph) -> None:
    """Warn of what there is to remark, once a net."""
    for text in remarks(graph):
        _LOG.warning("%s", text)


def _named(titles: list[str]) -> str:
    more = len(titles) - 1
    return titles[0] + (f" and {more} more" if more else "")
