"""What a net consists of, under pycaffe's names: blobs, params, layers and ids."""

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

from geeps_caffe.caffe.arrays import PARAM, NetArrays
from geeps_caffe.caffe.blobs import Blob, ReshapedBlob
from geeps_caffe.graph.graph import Graph, Node
from geeps_caffe.layers.python import Python


class LayerView:
    """A layer's type and blobs, as in `net.layers`."""

    def __init__(self, node: Node, blobs: Sequence[Blob]) -> None:
        self.type = node.type
        self.blobs = list(blobs)
        self.layer = node.layer


class UserLayerView(LayerView):
    """A Python layer, as in `net.layers`: the user's object, all but type and blobs.

    So a script can reach its own names, as in `net.layers[0].set_roidb(roidb)`.
    """

    layer: Python

    def __getattr__(self, name: str) -> Any:
        """What the user's object has under this name."""
        return getattr(object.__getattribute__(self, "layer").user, name)

    def __setattr__(self, name: str, value: Any) -> None:
        """Set what is not the view's own on the user's object."""
        own = name in ("type", "blobs", "layer")
        object.__setattr__(self if own else self.layer.user, name, value)


class Structure:
    """The parts of a net. Dictionaries are in the order of the layers."""

    def _describe(self, graph: Graph, arrays: NetArrays) -> None:
        nodes = graph.nodes
        self._graph, self.name = graph, graph.name
        self.blobs = OrderedDict((b, Blob(arrays, b)) for b in graph.blobs)
        self.params = OrderedDict(
            (node.name, _params(graph, node, arrays)) for node in nodes if node.params
        )
        self.layers = [_view(n, self.params.get(n.name, ())) for n in nodes]
        self._layer_names = [node.name for node in nodes]
        self.layer_dict = OrderedDict(zip(self._layer_names, self.layers, strict=True))
        blob_of = {name: value.blob for name, value in graph.values.items()}
        self.top_names = OrderedDict(
            (n.name, [blob_of[t] for t in n.tops]) for n in nodes
        )
        self.bottom_names = OrderedDict(
            (n.name, [blob_of[b] for b in n.bottoms]) for n in nodes
        )
        self.inputs = [blob_of[value] for value in graph.inputs]
        self.outputs = list(graph.outputs)

    @property
    def blob_loss_weights(self) -> "OrderedDict[str, float]":
        """The loss weight of every blob."""
        found: OrderedDict[str, float] = OrderedDict.fromkeys(self.blobs, 0.0)
        for node in self._graph.nodes:
            for top, weight in zip(node.tops, node.loss_weights, strict=True):
                found[self._graph.values[top].blob] = weight
        return found

    # -- pycaffe's own names beneath these, which scripts use too ----------------

    @property
    def _blob_names(self) -> list[str]:
        return list(self.blobs)

    @property
    def _blobs(self) -> list[Blob]:
        return list(self.blobs.values())

    @property
    def _blob_loss_weights(self) -> list[float]:
        return list(self.blob_loss_weights.values())

    @property
    def _inputs(self) -> list[int]:
        return self._ids(self.inputs)

    @property
    def _outputs(self) -> list[int]:
        return self._ids(self.outputs)

    def _top_ids(self, layer: int) -> list[int]:
        return self._ids(self.top_names[self._layer_names[layer]])

    def _bottom_ids(self, layer: int) -> list[int]:
        return self._ids(self.bottom_names[self._layer_names[layer]])

    def _ids(self, names: Sequence[str]) -> list[int]:
        places = {name: i for i, name in enumerate(self.blobs)}
        return [places[name] for name in names]


def _view(node: Node, blobs: Sequence[Blob]) -> LayerView:
    kind = UserLayerView if isinstance(node.layer, Python) else LayerView
    return kind(node, blobs)


def _params(graph: Graph, node: Node, arrays: NetArrays) -> list[Blob]:
    """A layer's blobs, in the shapes that it has them in (share_mode PERMISSIVE)."""
    found: list[Blob] = []
    for key, shape in zip(node.params, node.param_shapes, strict=True):
        if shape == graph.params[key].shape:
            found.append(Blob(arrays, PARAM + key))
        else:
            found.append(ReshapedBlob(arrays, PARAM + key, shape))
    return found
