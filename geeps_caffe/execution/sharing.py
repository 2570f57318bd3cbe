"""Which blobs of layers are shared, within a net and with the training net."""

from collections.abc import Sequence

from geeps_caffe.errors import InputError
from geeps_caffe.graph.graph import Graph, Node


def shared_names(graph: Graph, trained: Graph) -> dict[str, str]:
    """Param keys of a net -> keys of the training net, by layer name and index.

    Raises:
        InputError: a layer of both nets has other blobs in each, by number or shape.
    """
    nodes = {node.name: node for node in trained.nodes}
    names: dict[str, str] = {}
    for node in graph.nodes:
        other = nodes.get(node.name)
        if other is None:
            continue
        if len(node.params) != len(other.params):
            raise InputError(
                f"{node.title} has {len(node.params)} learnable blobs, but in the "
                f"training net {other.title} has {len(other.params)}; layers of one "
                "name share their blobs, so rename one or make them equal"
            )
        for mine, theirs in zip(node.params, other.params, strict=True):
            have, want = trained.params[theirs].shape, graph.params[mine].shape
            if have != want:
                raise InputError(
                    f"{node.title} shares its blob with the training net, where it has "
                    f"shape {have}; here it has {want}"
                )
            names[mine] = theirs
            names[f"{mine}.diff"] = f"{theirs}.diff"
    return names


def ownership(nodes: Sequence[Node]) -> list[list[bool]]:
    """For every blob of every layer, whether it stands there for the first time."""
    seen: set[str] = set()
    found: list[list[bool]] = []
    for node in nodes:
        found.append([])
        for key in node.params:
            found[-1].append(key not in seen)
            seen.add(key)
    return found
