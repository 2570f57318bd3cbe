"""How long the clips of a recurrent net are, and how many lie in a batch.

LRCN's nets say it only in their Reshape layers, which turn the source's (T * B)
labels and markers into (T, B); the source is told through its param_str.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from geeps_caffe.graph.graph import Graph, Node
from geeps_caffe.graph.splits import Placed
from geeps_caffe.layers.recurrent import Recurrent
from geeps_caffe.layers.sequence_data import (
    SequenceData,
    is_sequence,
    read_settings,
)


def with_clip_shapes(layers: Sequence[Placed]) -> list[Placed]:
    """The same layers; video sources that don't say their clips' shape now do."""
    return [
        _told(placed, layers) if is_sequence(placed.spec) else placed
        for placed in layers
    ]


def _told(placed: Placed, layers: Sequence[Placed]) -> Placed:
    settings = read_settings(placed.spec, f"layer {placed.spec.name!r} (Python)")
    found = clip_shape(placed.spec, [other.spec for other in layers])
    if found is None or (settings.frames and settings.videos):
        return placed
    spec = type(placed.spec)()
    spec.CopyFrom(placed.spec)
    given = json.loads(spec.python_param.param_str or "{}")
    told = {"frames": found[0], "videos": found[1]} | given
    spec.python_param.param_str = json.dumps(told)
    return Placed(spec, placed.place)


def override_clips(message: Any, settings: Mapping[str, Any]) -> Any:
    """The net with other settings of its video sources, as param_str may have them.

    With other `frames` or `videos` the Reshape layers change that lay a batch out.
    """
    found = type(message)()
    found.CopyFrom(message)
    for source in filter(is_sequence, found.layer):
        given = json.loads(source.python_param.param_str or "{}")
        source.python_param.param_str = json.dumps(given | dict(settings))
    shapes = {clip_shape(s, message.layer) for s in message.layer if is_sequence(s)}
    for spec in found.layer:
        dims = spec.reshape_param.shape.dim
        if spec.type == "Reshape" and tuple(dims[:2]) in shapes:
            dims[0] = settings.get("frames", dims[0])
            dims[1] = settings.get("videos", dims[1])
    return found


def clip_shape(source: Any, layers: Sequence[Any]) -> tuple[int, int] | None:
    """T and B, as a Reshape of one of the source's further tops has them."""
    for spec in layers:
        if spec.type == "Reshape" and spec.bottom[0] in source.top[1:]:
            dims = spec.reshape_param.shape.dim
            if len(dims) == 2 and min(dims) > 0:
                return int(dims[0]), int(dims[1])
    return None


def marker_source(graph: Graph, node: Node) -> Node:
    """Where the second bottom of a recurrent layer, cont, comes from."""
    source = graph.nodes[graph.values[node.bottoms[1]].source]
    while source.type in ("Split", "Reshape"):
        source = graph.nodes[graph.values[source.bottoms[0]].source]
    return source


def of_clips(source: Node) -> bool:
    """Whether each batch has whole clips, so no state goes on from the last batch."""
    return isinstance(source.layer, SequenceData)


def goes_on(graph: Graph) -> bool:
    """Whether recurrent layers may go on in a batch from where the last one ended."""
    return any(
        isinstance(node.layer, Recurrent)
        and not node.layer.exposed
        and not of_clips(marker_source(graph, node))
        for node in graph.nodes
    )
