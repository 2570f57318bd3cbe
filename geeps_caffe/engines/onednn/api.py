"""A thin layer over oneDNN's C interface: every status checked, every handle owned.

    library = open_library()
    api = Api(library)
    conv = api.primitive_desc("convolution_forward", Prop..., Algorithm..., src, ...)
    call = api.bind(conv, {Arg.SRC: api.memory(conv.md(Query.SRC), array), ...})
    call()

oneDNN keeps raw pointers: whatever a handle points to is referenced by its owner here.
Streams of the runtimes that we accept run a primitive before `execute` returns.
"""

import ctypes
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from typing import Any, TypeAlias

from geeps_caffe.device.array import Array, Shape
from geeps_caffe.engines.engine import Call
from geeps_caffe.engines.onednn.constants import (
    ANY,
    BLOCKED,
    CPU,
    FLOAT32,
    IN_ORDER,
    MAX_NDIMS,
    USER_SCRATCHPAD,
    Arg,
    MdQuery,
    Query,
    Status,
)
from geeps_caffe.engines.onednn.library import OneDnnError

_Dims: TypeAlias = ctypes.Array[ctypes.c_int64]
_INT64 = ctypes.c_int64


def _dims(values: Sequence[int]) -> _Dims:
    return (_INT64 * MAX_NDIMS)(*values)


class _ExecArg(ctypes.Structure):
    _fields_ = [("arg", ctypes.c_int), ("memory", ctypes.c_void_p)]


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

    api: "Api"

    def _ask(self, what: MdQuery, kind: Any) -> Any:
        result = kind()
        query = self.api.library.dnnl_memory_desc_query
        _check(query(self.pointer, what, ctypes.byref(result)), "memory_desc_query")
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
        return int(self.api.library.dnnl_memory_desc_get_size(self.pointer))

    def same(self, other: "Md") -> bool:
        """Whether both describe the same elements at the same addresses."""
        equal = self.api.library.dnnl_memory_desc_equal
        return bool(equal(self.pointer, other.pointer))


class PrimitiveDesc(Handle):
    """A primitive that exists for given shapes, before it is compiled."""

    api: "Api"

    def md(self, what: Query) -> Md:
        """The descriptor of one of its arguments."""
        ask = self.api.library.dnnl_primitive_desc_query_md
        md = Md(ctypes.c_void_p(ask(self.pointer, what, 0)), None, self)
        md.api = self.api
        return md

    @cached_property
    def implementation(self) -> str:
        """oneDNN's name for it, such as `jit:avx512_core` or `ref:any`."""
        result = ctypes.c_char_p()
        query = self.api.library.dnnl_primitive_desc_query
        _check(
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


class Api:
    """An open library with a CPU engine and a stream of oneDNN's."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self.library = library
        _declare(library)
        self._engine = self._make("engine", CPU, ctypes.c_size_t(0))
        self._stream = self._make("stream", self._engine, IN_ORDER)
        self._attributes = self._make("primitive_attr")
        set_mode = library.dnnl_primitive_attr_set_scratchpad_mode
        _check(set_mode(self._attributes.pointer, USER_SCRATCHPAD), "scratchpad_mode")

    # -- memory descriptors ----------------------------------------------------

    def plain(self, dims: Shape) -> Md:
        """C order, no padding."""
        strides, step = [], 1
        for extent in reversed(dims):
            strides.append(step)
            step *= max(extent, 1)
        return self.strided(dims, tuple(reversed(strides)))

    def strided(self, dims: Shape, strides: Shape) -> Md:
        """Elements at given distances."""
        return self._md("create_with_strides", len(dims), dims, FLOAT32, strides)

    def any(self, dims: Shape) -> Md:
        """The primitive chooses how the elements lie."""
        return self.tagged(dims, ANY)

    def tagged(self, dims: Shape, tag: int) -> Md:
        """A layout that oneDNN has a number for."""
        return self._md("create_with_tag", len(dims), dims, FLOAT32, tag)

    def permuted(self, md: Md, order: Shape) -> Md:
        """Axis i of `md` becomes axis order[i]; the elements stay where they are."""
        axes = (ctypes.c_int * MAX_NDIMS)(*order)
        return self._md("permute_axes", md, axes)

    def part(self, md: Md, dims: Shape, offsets: Shape) -> Md | None:
        """The part of `md` that starts at `offsets`; None where blocks are cut."""
        pointer = ctypes.c_void_p()
        create = self.library.dnnl_memory_desc_create_submemory
        status = create(ctypes.byref(pointer), md.pointer, _dims(dims), _dims(offsets))
        return None if self._absent(status, "submemory") else self._own_md(pointer)

    def _md(self, function: str, *values: Any) -> Md:
        pointer = ctypes.c_void_p()
        create = getattr(self.library, f"dnnl_memory_desc_{function}")
        _check(create(ctypes.byref(pointer), *_arguments(values)), function)
        return self._own_md(pointer)

    def _own_md(self, pointer: ctypes.c_void_p) -> Md:
        md = Md(pointer, self.library.dnnl_memory_desc_destroy)
        md.api = self
        return md

    # -- primitives ------------------------------------------------------------

    def primitive_desc(
        self, kind: str, *values: Any, hint: PrimitiveDesc | None = None
    ) -> PrimitiveDesc | None:
        """A primitive of `kind`, such as "pooling_forward"; None if there is none.

        `values` follow the engine in the C function's order: tuples for dims, lists
        of Md for arrays of descriptors. `hint` is the forward one, for backward.
        """
        hints = (hint,) if "backward" in kind else ()
        engine = () if kind == "reorder" else (self._engine,)
        pointer = ctypes.c_void_p()
        create = getattr(self.library, f"dnnl_{kind}_primitive_desc_create")
        arguments = _arguments((*engine, *values, *hints, self._attributes))
        if self._absent(create(ctypes.byref(pointer), *arguments), kind):
            return None
        destroy = self.library.dnnl_primitive_desc_destroy
        desc = PrimitiveDesc(pointer, destroy, values, hint)
        desc.api = self
        return desc

    def reorder(self, source: Md, target: Md) -> PrimitiveDesc | None:
        """The primitive that copies between two descriptors of the same extents."""
        engine = self._engine
        return self.primitive_desc("reorder", source, engine, target, engine)

    def memory(self, md: Md, array: Array) -> Handle:
        """An argument: `array` seen as `md`. The array must not move."""
        assert array.flags.c_contiguous, "oneDNN is given a block of memory"
        assert array.nbytes >= md.nbytes, (array.nbytes, md.nbytes)
        address = ctypes.c_void_p(array.ctypes.data)
        made = self._make("memory", md, self._engine, address)
        return Handle(made.pointer, None, made, md, array)

    def bind(self, desc: PrimitiveDesc, memories: Mapping[Arg | int, Handle]) -> Call:
        """The call that executes a primitive on its arguments."""
        primitive = self._make("primitive", desc)
        pairs = [_ExecArg(arg, m.pointer) for arg, m in memories.items()]
        arguments = (_ExecArg * len(pairs))(*pairs)
        run = _Execute(
            self.library.dnnl_primitive_execute,
            primitive.pointer,
            self._stream.pointer,
            len(pairs),
            arguments,
        )
        run.keep = (primitive, dict(memories), self)
        return run

    def _make(self, kind: str, *values: Any) -> Handle:
        pointer = ctypes.c_void_p()
        create = getattr(self.library, f"dnnl_{kind}_create")
        _check(create(ctypes.byref(pointer), *_arguments(values)), f"{kind}_create")
        return Handle(pointer, getattr(self.library, f"dnnl_{kind}_destroy"), values)

    def _absent(self, status: int, what: str) -> bool:
        if status == Status.UNIMPLEMENTED:
            return True
        _check(status, what)
        return False


class _Execute(partial[None]):
    """A bound `execute`, and what it must keep alive."""

    keep: object = None


def _arguments(values: Sequence[Any]) -> list[Any]:
    return [_argument(value) for value in values]


def _argument(value: Any) -> Any:
    """`value` as ctypes passes it: handles by pointer, tuples as dims."""
    if isinstance(value, Handle):
        return value.pointer
    if isinstance(value, tuple):
        return _dims(value)
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


def _check(status: int, what: str) -> None:
    if status != Status.SUCCESS:
        name = Status(status).name if status in set(Status) else str(status)
        raise OneDnnError(f"oneDNN refused {what}: {name.lower().replace('_', ' ')}")


def _check_execute(status: int) -> None:
    if status:
        _check(status, "to execute a primitive")


def _declare(library: ctypes.CDLL) -> None:
    """Say what functions return where it is not a status, and how they are called."""
    library.dnnl_primitive_desc_query_md.restype = ctypes.c_void_p
    library.dnnl_memory_desc_get_size.restype = ctypes.c_size_t
    library.dnnl_fmt_tag2str.restype = ctypes.c_char_p
    library.dnnl_primitive_execute.restype = _check_execute
