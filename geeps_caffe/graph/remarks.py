"""What a net may not mean, though Caffe computes it: a line for each kind."""

import logging

from geeps_caffe.graph.graph import Graph

_LOG = logging.getLogger(__name__)


def remarks(graph: Graph) -> list[str]:
    """A sentence for each thing that layers remark, with the first that does."""
    layers: dict[str, list[str]] = {}
    for node in graph.nodes:
        for remark in node.layer.remarks():
            layers.setdefault(remark, []).append(node.title)
    return [f"{_named(titles)}: {remark}" for remark, titles in layers.items()]


def log_remarks(graph: Graph) -> None:
    """Warn of what there is to remark, once a net."""
    for text in remarks(graph):
        _LOG.warning("%s", text)


def _named(titles: list[str]) -> str:
    more = len(titles) - 1
    return titles[0] + (f" and {more} more" if more else "")
