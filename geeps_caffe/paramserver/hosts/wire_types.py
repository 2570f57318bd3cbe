"""How numbers travel between hosts: as they are, or as 16-bit floats."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from geeps_caffe.device.array import Array
from geeps_caffe.errors import ParameterServerError, unknown

_HALF_BITS = 15  # of the largest number's whole part; 16 might round to infinity


@dataclass(frozen=True)
class WireType:
    """A way to write floats; `exact` if reading gives the same numbers."""

    name: str
    exact: bool
    encode: Callable[[Array], Array]
    decode: Callable[[Array, np.dtype[Any]], Array]
    itemsize: int | None = None  # bytes; None: the table's own
    more: int = 0  # bytes besides

    def nbytes(self, size: int, dtype: str) -> int:
        """Bytes of `size` numbers of a table's dtype."""
        return size * (self.itemsize or np.dtype(dtype).itemsize) + self.more


def _as_is(values: Array) -> Array:
    return values


def _to_half(values: Array) -> Array:
    """Times a power of 2 with which the largest has 15 bits; its exponent comes last.

    So nothing is too large for the format, and what is small is not lost unless
    something 2^39 times as large travels with it. What is no number stays so.
    """
    exponent = _exponent(values)
    data = np.empty(values.size + 1, np.float16)
    data[:-1] = values * _power(exponent, values.dtype)
    data[-1:].view(np.int16)[0] = exponent
    return data


def _exponent(values: Array) -> int:
    """Of 2: brings the largest finite number into 2^14 to 2^15, as far as it goes."""
    most = max(float(values.max()), -float(values.min())) if values.size else 0.0
    if not np.isfinite(most):
        finite = values[np.isfinite(values)]
        most = float(np.abs(finite).max()) if finite.size else 0.0
    if most == 0.0:
        return 0
    bound = int(np.finfo(values.dtype).maxexp) - 2  # of a factor and its inverse
    return min(max(_HALF_BITS - math.frexp(most)[1], -bound), bound)


def _from_half(data: Array, dtype: np.dtype[Any]) -> Array:
    half = data.view(np.float16)
    exponent = int(half[-1:].view(np.int16)[0])
    values: Array = half[:-1].astype(dtype)
    values *= _power(-exponent, dtype)
    return values


def _power(exponent: int, dtype: np.dtype[Any]) -> Any:
    """2 to it; infinite if that is too much, as of what no host has sent."""
    with np.errstate(over="ignore"):
        return np.ldexp(dtype.type(1), exponent)


def _to_brain(values: Array) -> Array:
    """The upper half of float32, rounded to nearest even."""
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    rounded = bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))
    upper = (rounded >> np.uint32(16)).astype(np.uint16)
    upper[np.isnan(values)] = 0x7FC0
    return upper


def _from_brain(data: Array, dtype: np.dtype[Any]) -> Array:
    wide = data.view(np.uint16).astype(np.uint32) << np.uint32(16)
    return wide.view(np.float32).astype(dtype, copy=False)


WIRE_TYPES = (
    WireType("fp32", True, _as_is, lambda data, dtype: data.view(dtype)),
    WireType("fp16", False, _to_half, _from_half, 2, 2),
    WireType("bf16", False, _to_brain, _from_brain, 2),
)


def find_wire_type(name: str) -> WireType:
    """The wire type of this name."""
    for found in WIRE_TYPES:
        if found.name == name:
            return found
    names = [known.name for known in WIRE_TYPES]
    raise ParameterServerError(unknown("wire type", name, names))
