"""Which learnable blobs share a table of the GeePS client."""

from collections.abc import Iterable

from geeps_caffe.config.grouping import Grouping
from geeps_caffe.device.array import count
from geeps_caffe.graph.graph import Graph

SINGLE = "all layers"  # the name of the only table


def assign_tables(graph: Graph, grouping: Grouping | None = None) -> dict[str, str]:
    """Param key -> table, for all blobs of layers that learn or decay.

    Statistics, layers whose blobs have no rate, and nets that learn nothing stay with
    the worker. A layer under no loss gets no gradient, but Caffe lets it decay.
    """
    owners = _owners(graph)
    groups = _groups(graph, owners, grouping or Grouping())
    table = {owner: name_of(group) for group in groups for owner in group}
    if grouping is not None and grouping.single:
        table = dict.fromkeys(owners, SINGLE)
    return {key: table[owner] for owner, keys in owners.items() for key in keys}


def _owners(graph: Graph) -> dict[str, list[str]]:
    """Layers with a rate, in the order of the net, and their blobs' keys."""
    found: dict[str, list[str]] = {}
    if not any(any(node.learns) for node in graph.nodes):
        return found
    learned = {
        key.rsplit("/", 1)[0]
        for key, param in graph.params.items()
        if param.lr_mult != 0 and not param.state
    }
    for key, param in graph.params.items():
        owner = key.rsplit("/", 1)[0]
        if owner in learned and not param.state:
            found.setdefault(owner, []).append(key)
    return found


def _groups(
    graph: Graph, owners: dict[str, list[str]], grouping: Grouping
) -> list[list[str]]:
    groups: list[list[str]] = []
    held = 0
    for owner, keys in owners.items():
        size = sum(4 * count(graph.params[key].shape) for key in keys)
        full = (
            len(groups[-1]) >= grouping.layers
            if groups and grouping.layers
            else held + size > grouping.bucket
        )
        if not groups or full:
            groups.append([])
            held = 0
        groups[-1].append(owner)
        held += size
    return groups


def name_of(layers: Iterable[str]) -> str:
    """A table's name from those of its layers.

    >>> name_of(["conv1", "conv2", "conv3"])
    'conv1..conv3'
    """
    first, *rest = layers
    return f"{first}..{rest[-1]}" if rest else first
