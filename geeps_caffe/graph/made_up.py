"""What made-up data looks like, so that every layer that reads it takes it."""

from collections.abc import Iterator

from geeps_caffe.device.array import count
from geeps_caffe.graph.graph import Graph, Node
from prototxt import FillerParameter

_PASSING = frozenset({"Split", "Reshape", "Flatten", "Slice", "Concat", "Tile"})
_BELOW = 1 - 2.0**-20  # keeps the largest float32 below a number of classes
_TARGETS = frozenset({"SigmoidCrossEntropyLoss"})


def made_up_values(graph: Graph) -> dict[str, FillerParameter]:
    """A filler for each top of the layers without bottoms.

    Class numbers are uniform below the number of classes (their readers leave
    fractions out), targets of probabilities uniform from 0 to 1, markers of
    recurrent layers 1; all other values are gaussian with standard deviation 1.
    """
    readers: dict[str, list[Node]] = {}
    for node in graph.nodes:
        for value in node.bottoms:
            readers.setdefault(value, []).append(node)
    found = {}
    for node in graph.nodes:
        for top in node.tops if not node.bottoms else ():
            users = list(_users(graph, readers, top))
            found[graph.values[top].blob] = _filler(graph, users)
    return found


def _users(
    graph: Graph, readers: dict[str, list[Node]], value: str
) -> Iterator[tuple[Node, int]]:
    """Who reads a value, perhaps in another shape: nodes, and as which bottom."""
    for node in readers.get(value, ()):
        if node.type in _PASSING:
            for top in node.tops:
                yield from _users(graph, readers, top)
        else:
            yield node, node.bottoms.index(value)


def _filler(graph: Graph, users: list[tuple[Node, int]]) -> FillerParameter:
    limits = [limit for u in users if (limit := _classes(graph, *u)) is not None]
    if limits:
        return FillerParameter(type="uniform", min=0, max=min(limits) * _BELOW)
    if any(node.type in _TARGETS and bottom == 1 for node, bottom in users):
        return FillerParameter(type="uniform", min=0, max=1)
    if any(node.type in ("LSTM", "RNN") and bottom == 1 for node, bottom in users):
        return FillerParameter(type="constant", value=1)
    return FillerParameter(type="gaussian", std=1)


def _classes(graph: Graph, node: Node, bottom: int) -> int | None:
    """The number of classes, where this bottom holds class numbers."""
    spec, shape = node.layer.spec, graph.values[node.bottoms[0]].shape
    axes: dict[str, int] = {
        "SoftmaxWithLoss": spec.softmax_param.axis,
        "Accuracy": spec.accuracy_param.axis,
        "InfogainLoss": spec.infogain_loss_param.axis,
    }
    if node.type in axes and bottom == 1:
        return shape[axes[node.type]]
    if node.type in ("HingeLoss", "MultinomialLogisticLoss") and bottom == 1:
        return count(shape[1:])
    if node.type == "ContrastiveLoss" and bottom == 2:
        return 2
    if node.type == "BatchReindex" and bottom == 1:
        return shape[0]
    if node.type == "Embed" and bottom == 0:
        return int(spec.embed_param.input_dim)
    return None
