"""A Split layer wherever one top has several readers (Caffe's InsertSplits).

Messages in, messages out. A loss weight on a top counts as a reader, so a top that
is a loss and is also read elsewhere is split, and the weight moves to the split.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from geeps_caffe.errors import GraphError, unknown


@dataclass(frozen=True)
class Placed:
    """A layer's message and where it stands ("file:line")."""

    spec: Any
    place: str


def insert_splits(layers: Sequence[Placed]) -> list[Placed]:
    """The same net with Splits, named as Caffe names them.

    Raises:
        GraphError: a bottom that no earlier layer makes.
    """
    sources, readers, weights = _readers(layers)
    result: list[Placed] = []
    given: Counter[tuple[int, int]] = Counter()
    for i, placed in enumerate(layers):
        spec = type(placed.spec)()
        spec.CopyFrom(placed.spec)
        for j in range(len(spec.bottom)):
            top = sources[i, j]
            if readers[top] > 1:
                maker = layers[top[0]].spec
                spec.bottom[j] = split_blob(maker, top[1], given[top])
                given[top] += 1
        result.append(Placed(spec, placed.place))
        for j in range(len(spec.top)):
            if readers[i, j] > 1:
                weight = weights.get((i, j), 0.0)
                split = _split(placed.spec, j, readers[i, j], weight)
                result.append(Placed(split, placed.place))
                if weight:
                    del spec.loss_weight[:]
                    given[i, j] += 1
    return result


def split_layer(spec: Any, top: int) -> str:
    """The name of the Split of a layer's top.

    For top 0, "data", of a layer "mnist": "data_mnist_0_split".
    """
    return f"{spec.top[top]}_{spec.name}_{top}_split"


def split_blob(spec: Any, top: int, index: int) -> str:
    """The name of one output of that Split."""
    return f"{split_layer(spec, top)}_{index}"


def _readers(
    layers: Sequence[Placed],
) -> tuple[
    dict[tuple[int, int], tuple[int, int]],
    Counter[tuple[int, int]],
    dict[tuple[int, int], float],
]:
    last: dict[str, tuple[int, int]] = {}
    sources: dict[tuple[int, int], tuple[int, int]] = {}
    readers: Counter[tuple[int, int]] = Counter()
    weights: dict[tuple[int, int], float] = {}
    for i, placed in enumerate(layers):
        spec = placed.spec
        for j, blob in enumerate(spec.bottom):
            if blob not in last:
                where = f" at {placed.place}" if placed.place else ""
                raise GraphError(
                    f"layer {spec.name!r} ({spec.type}){where}, bottom[{j}]: "
                    + unknown("bottom blob", blob, last)
                )
            sources[i, j] = last[blob]
            readers[last[blob]] += 1
        for j, blob in enumerate(spec.top):
            last[blob] = (i, j)
        for blob, weight in zip(spec.top, spec.loss_weight, strict=False):
            if weight:
                weights[last[blob]] = weight
                readers[last[blob]] += 1
    return sources, readers, weights


def _split(spec: Any, top: int, count: int, weight: float) -> Any:
    split = type(spec)()
    split.name = split_layer(spec, top)
    split.type = "Split"
    split.bottom.append(spec.top[top])
    for k in range(count):
        split.top.append(split_blob(spec, top, k))
        if weight:
            split.loss_weight.append(weight if k == 0 else 0.0)
    return split
