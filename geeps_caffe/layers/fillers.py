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
Values: TypeAlias = Callable[[Shape, Filler, np.random.Generator], Array]


def fill(array: Array, filler: Filler, random: np.random.Generator) -> None:
    """Overwrite `array` with the values that `filler` asks for; None asks for zeros."""
    if filler is None:
        array[...] = 0
        return
    problem = fault(filler, array.shape)
    if problem:
        raise LayerError(problem)
    array[...] = FILLERS[filler.type](array.shape, filler, random)


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


def _constant(shape: Shape, filler: Filler, random: np.random.Generator) -> Array:
    del random
    return np.full(shape, filler.value, np.float32)


def _uniform(shape: Shape, filler: Filler, random: np.random.Generator) -> Array:
    return _between(filler.min, filler.max, shape, random)


def _between(
    low: float, high: float, shape: Shape, random: np.random.Generator
) -> Array:
    values = random.random(shape, np.float32)
    values *= np.float32(high - low)
    values += np.float32(low)
    return values


def _normal(std: float, shape: Shape, random: np.random.Generator) -> Array:
    values = random.standard_normal(shape, np.float32)
    values *= np.float32(std)
    return values


def _gaussian(shape: Shape, filler: Filler, random: np.random.Generator) -> Array:
    """`sparse` is the mean number of values that stay, of those of one input."""
    values = _normal(filler.std, shape, random) + np.float32(filler.mean)
    if filler.sparse >= 0:
        values *= random.random(shape, np.float32) < filler.sparse / shape[0]
    return values


def _positive_unitball(
    shape: Shape, filler: Filler, random: np.random.Generator
) -> Array:
    """Each output's values are positive and sum to 1."""
    del filler
    values = random.random(shape, np.float32).reshape(shape[0], -1)
    values /= values.sum(axis=1, keepdims=True)
    return values.reshape(shape)


def fans(shape: Shape, filler: Filler) -> float:
    """The inputs of an output, the reverse, or their mean, as variance_norm says."""
    size = count(shape)
    fan_in = size / shape[0]
    fan_out = size / shape[1] if len(shape) > 1 else size
    return (fan_in, fan_out, (fan_in + fan_out) / 2)[filler.variance_norm]


def _xavier(shape: Shape, filler: Filler, random: np.random.Generator) -> Array:
    bound = sqrt(3 / fans(shape, filler))
    return _between(-bound, bound, shape, random)


def _msra(shape: Shape, filler: Filler, random: np.random.Generator) -> Array:
    return _normal(sqrt(2 / fans(shape, filler)), shape, random)


def _bilinear(shape: Shape, filler: Filler, random: np.random.Generator) -> Array:
    """Every plane is the same tent, which peaks in the middle (also for odd sizes)."""
    del filler, random
    half, places = ceil(shape[3] / 2), np.arange(shape[3])
    tent = 1 - abs(places / half - (shape[3] - 1) / (2 * half))
    return np.broadcast_to(np.outer(tent, tent), shape).astype(np.float32)


FILLERS: dict[str, Values] = {
    "constant": _constant,
    "uniform": _uniform,
    "gaussian": _gaussian,
    "positive_unitball": _positive_unitball,
    "xavier": _xavier,
    "msra": _msra,
    "bilinear": _bilinear,
}
