"""Descriptors of oneDNN's: what lies where in memory, and which primitive to run.

oneDNN keeps raw pointers: whatever a handle points to is referenced by its owner here.
"""

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

from geeps_caffe.device.array import Shape
from geeps_caffe.engines.onednn.constants import (
    BLOCKED,
    MAX_NDIMS,
    MdQuery,
    Query,
    Status,
)
from geeps_caffe.engines.onednn.library import OneDnnError

_Dims: TypeAlias = ctypes.Array[ctypes.c_int64]
_INT64 = ctypes.c_int64


def dims_array(values: Sequence[int]) -> _Dims:
    """Extents, strides or the like as oneDNN takes them."""
    return (_INT64 * MAX_NDIMS)(*values)


class Handle:
    """An object of oneDNN's and what must live as long as it."""

    def __init__(
        self,
        pointer: ctypes.c_void_p,
        destroy: Callable[[ctypes.c_void_p], object] | None,
        *keep: object,
    ) -> None:
        self.pointer = pointer
        self._destroy = destroy
        self._keep = keep

    def __del__(self) -> None:
        if self._destroy is not None:
            self._destroy(self.pointer)


class Md(Handle):
    """A memory descriptor: extents, and how the elements lie. float32 only."""

    library: ctypes.CDLL

    def _ask(self, what: MdQuery, kind: Any) -> Any:
        result = kind()
        query = self.library.dnnl_memory_desc_query
        check(query(self.pointer, what, ctypes.byref(result)), "memory_desc_query")
        return result

    def _vector(self, what: MdQuery, length: int) -> Shape:
        pointer = self._ask(what, ctypes.POINTER(_INT64))
        return tuple(pointer[:length])

    @cached_property
    def ndim(self) -> int:
        """The number of axes; 0 where a primitive does not use the argument."""
        return int(self._ask(MdQuery.NDIMS, ctypes.c_int).value)

    @cached_property
    def dims(self) -> Shape:
        """Logical extents."""
        return self._vector(MdQuery.DIMS, self.ndim)

    @cached_property
    def padded_dims(self) -> Shape:
        """Extents rounded up to whole blocks; what is added stays zero."""
        return self._vector(MdQuery.PADDED_DIMS, self.ndim)

    @cached_property
    def strides(self) -> Shape:
        """Elements from one outer block to the next, by axis."""
        return self._vector(MdQuery.STRIDES, self.ndim)

    @cached_property
    def blocks(self) -> tuple[tuple[int, int], ...]:
        """Inner blocks as (axis, extent), from the outermost to the innermost."""
        n = int(self._ask(MdQuery.INNER_COUNT, ctypes.c_int).value)
        axes = self._vector(MdQuery.INNER_AXES, n)
        return tuple(zip(axes, self._vector(MdQuery.INNER_BLOCKS, n), strict=True))

    @cached_property
    def blocked(self) -> bool:
        """Whether strides and blocks say all (not so for Winograd's weights)."""
        return bool(self._ask(MdQuery.FORMAT_KIND, ctypes.c_int).value == BLOCKED)

    @cached_property
    def nbytes(self) -> int:
        """Bytes, padding included."""
        return int(self.library.dnnl_memory_desc_get_size(self.pointer))

    def same(self, other: "Md") -> bool:
        """Whether both describe the same elements at the same addresses."""
        equal = self.library.dnnl_memory_desc_equal
        return bool(equal(self.pointer, other.pointer))


class PrimitiveDesc(Handle):
    """A primitive that exists for given shapes, before it is compiled."""

    library: ctypes.CDLL

    def md(self, what: Query) -> Md:
        """The descriptor of one of its arguments."""
        ask = self.library.dnnl_primitive_desc_query_md
        md = Md(ctypes.c_void_p(ask(self.pointer, what, 0)), None, self)
        md.library = self.library
        return md

    @cached_property
    def implementation(self) -> str:
        """oneDNN's name for it, such as `jit:avx512_core` or `ref:any`."""
        result = ctypes.c_char_p()
        query = self.library.dnnl_primitive_desc_query
        check(
            query(self.pointer, Query.IMPLEMENTATION, 0, ctypes.byref(result)),
            "primitive_desc_query",
        )
        return (result.value or b"").decode()

    @property
    def slow(self) -> bool:
        """Whether this is oneDNN's own plain definition, not tuned code."""
        return self.implementation.startswith("ref")

    @cached_property
    def scratch(self) -> int:
        """Bytes that it needs while it runs."""
        md = self.md(Query.SCRATCHPAD)
        return md.nbytes if md.ndim else 0


@dataclass(frozen=True)
class PostOp:
    """What is done to a primitive's result before it is written."""

    kind: str  # as in the name of the C function that appends it
    values: tuple[Any, ...]


def apply_function(algorithm: int, alpha: float = 0.0, beta: float = 0.0) -> PostOp:
    """An element-wise function of the result."""
    return PostOp("eltwise", (int(algorithm), float(alpha), float(beta)))


def combine(algorithm: int, md: Md) -> PostOp:
    """The result and another array, given when the primitive runs."""
    return PostOp("binary", (int(algorithm), md))


def add_old(factor: float) -> PostOp:
    """The result and `factor` times what was there before."""
    return PostOp("sum", (float(factor), 0, 0))


def arguments(values: Sequence[Any]) -> list[Any]:
    """`values` as ctypes passes them to a function of oneDNN's."""
    return [_argument(value) for value in values]


def _argument(value: Any) -> Any:
    """`value` as ctypes passes it: handles by pointer, tuples as dims."""
    if isinstance(value, Handle):
        return value.pointer
    if isinstance(value, tuple):
        return dims_array(value)
    if isinstance(value, list):
        return _array(value)
    if isinstance(value, float):
        return ctypes.c_float(value)
    if isinstance(value, int):
        return ctypes.c_int(value)
    return value


def _array(values: list[Any]) -> Any:
    if isinstance(values[0], Handle):
        return (ctypes.c_void_p * len(values))(*(v.pointer.value for v in values))
    return (ctypes.c_float * len(values))(*values)


def check(status: int, what: str) -> None:
    """An OneDnnError for any answer but success."""
    if status != Status.SUCCESS:
        name = Status(status).name if status in set(Status) else str(status)
        raise OneDnnError(f"oneDNN refused {what}: {name.lower().replace('_', ' ')}")
