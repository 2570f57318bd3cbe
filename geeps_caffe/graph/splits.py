"""A Split layer wherever one top has several readers (Caffe's InsertSplits).

Messages in, messages out. A loss weight on a top counts as a reader, so a top that
is a loss and is also read elsewhere is split, and the weight moves to the split.
"""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from geeps_caffe.errors import GraphError, unknown


@dataclass(frozen=True)
class Placed:
    """A layer's message and where it stands ("file:line")."""

    spec: Any
    place: str


@dataclass(frozen=True)
class Absent:
    """The layers that include and exclude rules leave out, and in which state."""

    layers: Sequence[Placed] = ()
    state: str = ""


def insert_splits(
    layers: Sequence[Placed], absent: Absent | None = None
) -> list[Placed]:
    """The same net with Splits, named as Caffe names them.

    Raises:
        GraphError: a bottom that no earlier layer makes; where a later or `absent`
            one would make it, the message says so.
    """
    sources, readers, weights = _readers(layers, absent or Absent())
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
    layers: Sequence[Placed], absent: Absent
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
                fault = _unknown(blob, last, layers[i + 1 :], absent)
                raise GraphError(f"{_title(placed)}, bottom[{j}]: {fault}")
            sources[i, j] = last[blob]
            readers[last[blob]] += 1
        for j, blob in enumerate(spec.top):
            last[blob] = (i, j)
        for blob, weight in zip(spec.top, spec.loss_weight, strict=False):
            if weight:
                weights[last[blob]] = weight
                readers[last[blob]] += 1
    return sources, readers, weights


def _unknown(
    blob: str, made: Collection[str], later: Sequence[Placed], absent: Absent
) -> str:
    """What to say of a bottom that no layer before makes."""
    for placed in later:
        if blob in placed.spec.top:
            return (
                f"unknown bottom blob {blob!r}: {_title(placed)} makes it, which does "
                "not stand before; layers are computed in the order of the file"
            )
    for placed in absent.layers:
        if blob in placed.spec.top:
            return (
                f"unknown bottom blob {blob!r}: {_title(placed)} would make it, but "
                f"its include and exclude rules leave it out here ({absent.state})"
            )
    return unknown("bottom blob", blob, made)


def _title(placed: Placed) -> str:
    where = f" at {placed.place}" if placed.place else ""
    return f"layer {placed.spec.name!r} ({placed.spec.type}){where}"


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
