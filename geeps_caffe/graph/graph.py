"""A net as a value: nodes in order, the values between them, and the params.

Blobs that a layer changes in place have several *values*, one per state: "conv1"
as the convolution wrote it, "conv1#1" after an in-place ReLU. A value is written
once and, since Split layers are inserted, read by at most one node.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from geeps_caffe.device.array import Shape
from geeps_caffe.layers.base import Layer


@dataclass(frozen=True)
class Param:
    """A learnable blob or a layer's statistics, under the name of its owner."""

    key: str  # "conv1/0": owning layer and index
    shape: Shape
    filler: Any  # FillerParameter message or None
    lr_mult: float
    decay_mult: float
    state: bool  # statistics that forward updates; never sent to the shard
    name: str = ""  # the shared name of the prototxt, if any


@dataclass(frozen=True)
class Value:
    """One state of a blob."""

    name: str
    blob: str  # the name in the prototxt
    shape: Shape
    source: int  # index of the node that writes it


@dataclass(frozen=True)
class Node:
    """A layer in its place."""

    index: int
    name: str
    type: str
    layer: Layer
    bottoms: tuple[str, ...]  # values
    tops: tuple[str, ...]  # values
    params: tuple[str, ...]  # keys into Graph.params, owners' names
    param_shapes: tuple[Shape, ...] = ()  # as this layer has them (PERMISSIVE sharing)
    place: str = ""
    in_place: bool = False  # top 0 is bottom 0's blob
    loss_weights: tuple[float, ...] = ()
    needs_backward: bool = False
    propagate: tuple[bool, ...] = ()  # which bottoms get a gradient
    learns: tuple[bool, ...] = ()  # which params get a gradient

    @property
    def title(self) -> str:
        """Name, type and place, for messages."""
        return self.layer.title


@dataclass(frozen=True)
class Graph:
    """A net for one phase, with all shapes known."""

    name: str
    phase: str
    nodes: tuple[Node, ...]
    values: Mapping[str, Value]
    params: Mapping[str, Param]
    inputs: tuple[str, ...]  # blobs that Input layers offer
    outputs: tuple[str, ...]  # blobs that nobody reads, by name as in Caffe
    log: tuple[str, ...] = field(default=(), compare=False)  # Caffe's init lines
    input_shapes: Mapping[str, Shape] = field(default_factory=dict)

    def last_value(self, blob: str) -> Value:
        """The final state of a blob."""
        found = [v for v in self.values.values() if v.blob == blob]
        return found[-1]

    def first_value(self, blob: str) -> Value:
        """The state of a blob as its first layer wrote it."""
        return next(v for v in self.values.values() if v.blob == blob)

    @property
    def dynamic(self) -> frozenset[str]:
        """Values whose shape is known only when their layer has run.

        Those of layers that say so, and of all behind them; the graph's shapes are
        upper bounds.
        """
        found: set[str] = set()
        for node in self.nodes:
            own = node.layer.dynamic and bool(node.bottoms)
            if own or not found.isdisjoint(node.bottoms):
                found.update(node.tops)
        return frozenset(found)

    @property
    def blobs(self) -> tuple[str, ...]:
        """Blob names in the order in which they appear."""
        return tuple(dict.fromkeys(v.blob for v in self.values.values()))
