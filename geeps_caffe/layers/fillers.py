"""FILLERS: the first values of weights, by the type of a FillerParameter.

The formulas are Caffe's; its random streams are not reproduced.
"""

from collections.abc import Callable
from math import ceil, sqrt
from typing import Any, TypeAlias

import numpy as np

from geeps_caffe.device.array import Array, Shape, count
from geeps_caffe.errors import LayerError, unknown
from geeps_caffe.layers.base import Layer, ParamSpec

Filler: TypeAlias = Any  # a FillerParameter message
#: Overwrites a dense array of float32: no other of its size is made, if not needed.
Values: TypeAlias = Callable[[Array, Filler, np.random.Generator], None]


def fill(array: Array, filler: Filler, random: np.random.Generator) -> None:
    """Overwrite `array` with the values that `filler` asks for; None asks for zeros."""
    if filler is None:
        array[...] = 0
        return
    problem = fault(filler, array.shape)
    if problem:
        raise LayerError(problem)
    plain = array.dtype == np.float32 and array.flags.c_contiguous
    values = array if plain else np.empty(array.shape, np.float32)
    FILLERS[filler.type](values, filler, random)
    if not plain:
        array[...] = values


def learnable(layer: Layer, name: str, shape: Shape, filler: Filler) -> ParamSpec:
    """The declaration of a learnable blob; the layer's error if it can't be filled."""
    problem = fault(filler, shape)
    if problem:
        layer.fail(f"{name}: {problem}")
    return ParamSpec(shape, filler)


def fault(filler: Filler, shape: Shape) -> str:
    """What is wrong with a filler for a blob of this shape; empty if nothing is."""
    kind = filler.type
    if kind not in FILLERS:
        return unknown("filler", kind, FILLERS)
    if kind != "gaussian" and filler.sparse != -1:
        return f"filler {kind!r} takes no sparse; only 'gaussian' does"
    if kind == "gaussian" and not (filler.std > 0 and filler.sparse >= -1):
        return (
            f"filler 'gaussian' has std {filler.std:g} and sparse {filler.sparse}; "
            "std must be above 0 (use 'constant' for equal values), sparse 0 or more"
        )
    if kind == "uniform" and filler.min > filler.max:
        return f"filler 'uniform' has min {filler.min:g} above max {filler.max:g}"
    if kind == "bilinear" and (len(shape) != 4 or shape[2] != shape[3]):
        return (
            f"filler 'bilinear' needs 4 axes and a square kernel; the blob has {shape}"
        )
    return ""


def _constant(values: Array, filler: Filler, random: np.random.Generator) -> None:
    del random
    values[...] = filler.value


def _uniform(values: Array, filler: Filler, random: np.random.Generator) -> None:
    _between(filler.min, filler.max, values, random)


def _between(
    low: float, high: float, values: Array, random: np.random.Generator
) -> None:
    random.random(dtype=np.float32, out=values)
    values *= np.float32(high - low)
    values += np.float32(low)


def _normal(std: float, values: Array, random: np.random.Generator) -> None:
    random.standard_normal(dtype=np.float32, out=values)
    values *= np.float32(std)


def _gaussian(values: Array, filler: Filler, random: np.random.Generator) -> None:
    """`sparse` is the mean number of values that stay, of those of one input."""
    _normal(filler.std, values, random)
    values += np.float32(filler.mean)
    if filler.sparse >= 0:
        share = filler.sparse / values.shape[0]
        values *= random.random(values.shape, np.float32) < share


def _positive_unitball(
    values: Array, filler: Filler, random: np.random.Generator
) -> None:
    """Each output's values are positive and sum to 1."""
    del filler
    random.random(dtype=np.float32, out=values)
    rows = values.reshape(values.shape[0], -1)
    rows /= rows.sum(axis=1, keepdims=True)


def fans(shape: Shape, filler: Filler) -> float:
    """The inputs of an output, the reverse, or their mean, as variance_norm says."""
    size = count(shape)
    fan_in = size / shape[0]
    fan_out = size / shape[1] if len(shape) > 1 else size
    return (fan_in, fan_out, (fan_in + fan_out) / 2)[filler.variance_norm]


def _xavier(values: Array, filler: Filler, random: np.random.Generator) -> None:
    bound = sqrt(3 / fans(values.shape, filler))
    _between(-bound, bound, values, random)


def _msra(values: Array, filler: Filler, random: np.random.Generator) -> None:
    _normal(sqrt(2 / fans(values.shape, filler)), values, random)


def _bilinear(values: Array, filler: Filler, random: np.random.Generator) -> None:
    """Every plane is the same tent, which peaks in the middle (also for odd sizes)."""
    del filler, random
    width = values.shape[3]
    half, places = ceil(width / 2), np.arange(width)
    tent = 1 - abs(places / half - (width - 1) / (2 * half))
    values[...] = np.outer(tent, tent)


FILLERS: dict[str, Values] = {
    "constant": _constant,
    "uniform": _uniform,
    "gaussian": _gaussian,
    "positive_unitball": _positive_unitball,
    "xavier": _xavier,
    "msra": _msra,
    "bilinear": _bilinear,
}
