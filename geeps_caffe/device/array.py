"""The array type that all parts exchange, and the shapes they speak of."""

from collections.abc import Sequence
from types import ModuleType
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[Any]  # a NumPy array; on a GPU engine a CuPy array
ArrayModule: TypeAlias = ModuleType  # numpy or cupy, `xp` in the code
Shape: TypeAlias = tuple[int, ...]
Shapes: TypeAlias = Sequence[Shape]

ALIGNMENT = 64  # bytes: a cache line, and the widest CPU vector register


def count(shape: Shape) -> int:
    """The number of elements of an array of this shape; 1 for the shape ().

    >>> count((2, 3))
    6
    """
    total = 1
    for extent in shape:
        total *= int(extent)
    return total


def aligned(nbytes: int) -> int:
    """The least multiple of 64 bytes that holds `nbytes`.

    >>> aligned(65)
    128
    """
    return -(-nbytes // ALIGNMENT) * ALIGNMENT


def allocate(nbytes: int) -> Array:
    """A zeroed block of bytes whose address is a multiple of 64."""
    raw = np.zeros(nbytes + ALIGNMENT, np.uint8)
    start = -raw.ctypes.data % ALIGNMENT
    return raw[start : start + nbytes]
