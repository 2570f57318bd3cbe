"""How numbers travel between hosts: as they are, or as 16-bit floats."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from geeps_caffe.device.array import Array
from geeps_caffe.errors import ParameterServerError, unknown


@dataclass(frozen=True)
class WireType:
    """A way to write floats; `exact` if reading gives the same numbers."""

    name: str
    exact: bool
    encode: Callable[[Array], Array]
    decode: Callable[[Array, np.dtype[Any]], Array]
    itemsize: int | None = None  # bytes; None: the table's own

    def nbytes(self, size: int, dtype: str) -> int:
        """Bytes of `size` numbers of a table's dtype."""
        return size * (self.itemsize or np.dtype(dtype).itemsize)


def _as_is(values: Array) -> Array:
    return values


def _to_half(values: Array) -> Array:
    """Rounded to nearest; what is too large becomes the largest."""
    most = np.finfo(np.float16).max
    return np.clip(values, -most, most).astype(np.float16)


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
    WireType(
        "fp16",
        False,
        _to_half,
        lambda data, dtype: data.view(np.float16).astype(dtype),
        2,
    ),
    WireType("bf16", False, _to_brain, _from_brain, 2),
)


def find_wire_type(name: str) -> WireType:
    """The wire type of this name."""
    for found in WIRE_TYPES:
        if found.name == name:
            return found
    names = [known.name for known in WIRE_TYPES]
    raise ParameterServerError(unknown("wire type", name, names))
