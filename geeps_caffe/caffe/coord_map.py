"""How places of one top lie in another, and a Crop that fits one to the other.

A map (axis, scale, shift) says: place i of the output lies at scale * i + shift of the
input, or, for axis None, at i itself whatever the axes are.
"""

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from geeps_caffe.caffe.faults import CropError, UnrelatedError
from geeps_caffe.caffe.net_spec import Function, Top, layers
from geeps_caffe.device.array import Array
from geeps_caffe.errors import UsageError

Map: TypeAlias = tuple[int | None, Any, Any]

_IDENTITY: Map = (None, 1, 0)
#: Layers whose places are those of their bottoms.
PASS_THROUGH_LAYERS = (
    *("AbsVal", "BatchNorm", "Bias", "BNLL", "Clip", "Dropout", "Eltwise", "ELU"),
    *("Exp", "Log", "LRN", "MVN", "Power", "PReLU", "ReLU", "Scale", "Sigmoid"),
    *("Split", "Swish", "TanH", "Threshold"),
)
_LEGACY = {"pad_h", "pad_w", "kernel_h", "kernel_w", "stride_h", "stride_w"}


class UndefinedMapException(UsageError):
    """A layer's places can't be followed, such as those of InnerProduct."""


class AxisMismatchException(UsageError):
    """Maps of different axes can't be chained."""


def conv_params(fn: Function) -> tuple[int, Array, Array, Array]:
    """The axis, strides, dilated kernels and pads of a layer with a window."""
    params = fn.params.get("convolution_param", fn.params)
    legacy = sorted(_LEGACY & set(params))
    if legacy:
        raise CropError(
            f"{fn.type_name} has {', '.join(legacy)}; places are followed where "
            "kernel_size, stride and pad are given instead"
        )
    kernel = _each(params["kernel_size"])
    spans = (kernel - 1) * _each(params.get("dilation", 1)) + 1
    stride, pad = _each(params.get("stride", 1)), _each(params.get("pad", 0))
    return params.get("axis", 1), stride, spans, pad


def crop_params(fn: Function) -> tuple[int, Array]:
    """The axis and the offsets of a Crop."""
    params = fn.params.get("crop_param", fn.params)
    return params.get("axis", 2), _each(params.get("offset", 0))


def coord_map(fn: Function) -> Map:
    """The map of one layer.

    Raises:
        UndefinedMapException: it has none.
    """
    if fn.type_name in ("Convolution", "Pooling", "Im2col"):
        axis, stride, span, pad = conv_params(fn)
        return axis, 1 / stride, (pad - (span - 1) / 2) / stride
    if fn.type_name == "Deconvolution":
        axis, stride, span, pad = conv_params(fn)
        return axis, stride, (span - 1) / 2 - pad
    if fn.type_name in PASS_THROUGH_LAYERS:
        return _IDENTITY
    if fn.type_name == "Crop":
        axis, offset = crop_params(fn)
        return axis - 1, 1, -offset  # convolutions name the axis before the first
    raise UndefinedMapException(f"places can't be followed through {fn.type_name}")


def compose(base_map: Map, next_map: Map) -> Map:
    """The map of two layers, one after the other.

    Raises:
        AxisMismatchException: they count from different axes.
    """
    (axis, scale, shift), (other, factor, more) = base_map, next_map
    if None not in (axis, other) and axis != other:
        raise AxisMismatchException(f"maps from axis {axis} and from axis {other}")
    return other if axis is None else axis, scale * factor, scale * more + shift


def inverse(coord_map: Map) -> Map:
    """The map the other way round."""
    axis, scale, shift = coord_map
    return axis, 1 / scale, -shift / scale


def coord_map_from_to(top_from: Top, top_to: Top) -> Map:
    """The map between two tops, by way of the nearest top that both come from.

    Raises:
        UnrelatedError: there is none that places can be followed to.
    """
    origins = dict(_maps_above(top_from))
    for top, found in _maps_above(top_to):
        if top in origins:
            return compose(found, inverse(origins[top]))
    raise UnrelatedError(
        "no map between the tops: they have no common origin to which layers with "
        "places (convolutions, poolings, activations, crops) lead"
    )


def _maps_above(top: Top) -> list[tuple[Top, Map]]:
    """The tops that a top comes from, itself first, and the maps to them."""
    found: dict[Top, Map] = {top: _IDENTITY}
    frontier = [top]
    for entry in frontier:  # which grows meanwhile
        try:
            own = coord_map(entry.fn) if entry.fn.inputs else None
        except UndefinedMapException:
            continue
        for bottom in _mapped_bottoms(entry.fn):
            if bottom not in found and own is not None:
                found[bottom] = compose(found[entry], own)
                frontier.append(bottom)
    return list(found.items())


def _mapped_bottoms(fn: Function) -> Sequence[Top]:
    """Crop's second bottom only lends its shape."""
    return fn.inputs[:1] if fn.type_name == "Crop" else fn.inputs


def crop(top_from: Top, top_to: Top) -> Top:
    """A Crop layer that cuts a top to the places of another.

    Raises:
        CropError: the strides differ, or the offset is negative or no whole number.
    """
    axis, scale, shift = coord_map_from_to(top_from, top_to)
    for fits, what in (
        (scale == np.ones(1), f"scale mismatch on crop (a = {scale})"),
        (shift <= np.zeros(1), f"cannot crop negative offset (b = {shift})"),
        (np.round(shift) == shift, f"cannot crop noninteger offset (b = {shift})"),
    ):
        if not np.all(fits):
            raise CropError(what)
    offset = [int(o) for o in -np.round(np.atleast_1d(shift))]
    found: Top = layers.Crop(
        top_from, top_to, crop_param={"axis": (axis or 1) + 1, "offset": offset}
    )
    return found


def _each(value: Any) -> Array:
    return np.array(value, ndmin=1)
