"""Which params of a net are those of the training net."""

from geeps_caffe.errors import InputError
from geeps_caffe.graph.graph import Graph


def shared_names(graph: Graph, trained: Graph) -> dict[str, str]:
    """Param keys of a net -> keys of the training net, by layer name and index.

    Raises:
        InputError: a layer of both nets has blobs of different shapes.
    """
    nodes = {node.name: node for node in trained.nodes}
    names: dict[str, str] = {}
    for node in graph.nodes:
        other = nodes.get(node.name)
        for mine, theirs in zip(
            node.params, other.params if other else (), strict=False
        ):
            have, want = trained.params[theirs].shape, graph.params[mine].shape
            if have != want:
                raise InputError(
                    f"{node.title} shares its blob with the training net, where it has "
                    f"shape {have}; here it has {want}"
                )
            names[mine] = theirs
            names[f"{mine}.diff"] = f"{theirs}.diff"
    return names
