"""A thin layer over oneDNN's C interface: every status checked, every handle owned.

    library = open_library()
    api = Api(library)
    conv = api.primitive_desc("convolution_forward", Prop..., Algorithm..., src, ...)
    call = api.bind(conv, {Arg.SRC: api.memory(conv.md(Query.SRC), array), ...})
    call()

Streams of the runtimes that we accept run a primitive before `execute` returns.
"""

import ctypes
from collections.abc import Mapping, Sequence
from functools import partial
from math import prod
from typing import Any

from geeps_caffe.device.array import Array, Shape
from geeps_caffe.engines.engine import Call
from geeps_caffe.engines.onednn.constants import (
    ANY,
    CPU,
    FLOAT32,
    IN_ORDER,
    MAX_NDIMS,
    USER_SCRATCHPAD,
    Arg,
    Status,
)
from geeps_caffe.engines.onednn.descriptors import (
    Handle,
    Md,
    PostOp,
    PrimitiveDesc,
    arguments,
    check,
    dims_array,
)


class _ExecArg(ctypes.Structure):
    _fields_ = [("arg", ctypes.c_int), ("memory", ctypes.c_void_p)]


class Api:
    """An open library with a CPU engine and a stream of oneDNN's."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self.library = library
        _declare(library)
        self._engine = self._make("engine", CPU, ctypes.c_size_t(0))
        self._stream = self._make("stream", self._engine, IN_ORDER)
        self._plain_attributes = self.attributes()

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

    def channels_last(self, dims: Shape) -> Md:
        """The channels (axis 1) of a place of an image lie together."""
        strides, step = [prod(dims[1:]), 1], dims[1]
        for extent in reversed(dims[2:]):
            strides.insert(2, step)
            step *= extent
        return self.strided(dims, tuple(strides))

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
        status = create(
            ctypes.byref(pointer), md.pointer, dims_array(dims), dims_array(offsets)
        )
        return None if self._absent(status, "submemory") else self._own_md(pointer)

    def _md(self, function: str, *values: Any) -> Md:
        pointer = ctypes.c_void_p()
        create = getattr(self.library, f"dnnl_memory_desc_{function}")
        check(create(ctypes.byref(pointer), *arguments(values)), function)
        return self._own_md(pointer)

    def _own_md(self, pointer: ctypes.c_void_p) -> Md:
        md = Md(pointer, self.library.dnnl_memory_desc_destroy)
        md.library = self.library
        return md

    # -- primitives ------------------------------------------------------------

    def attributes(
        self, post_ops: Sequence[PostOp] = (), scales: Sequence[Arg | int] = ()
    ) -> Handle:
        """What a primitive does beyond its definition; its scratch is the user's.

        Each argument in `scales` is multiplied with a number that is given when the
        primitive runs.
        """
        made = self._make("primitive_attr")
        set_mode = self.library.dnnl_primitive_attr_set_scratchpad_mode
        check(set_mode(made.pointer, USER_SCRATCHPAD), "scratchpad_mode")
        for arg in scales:
            set_scale = self.library.dnnl_primitive_attr_set_scales_mask
            check(set_scale(made.pointer, *arguments((int(arg), 0))), "scales_mask")
        if post_ops:
            row = self._make("post_ops")
            for op in post_ops:
                append = getattr(self.library, f"dnnl_post_ops_append_{op.kind}")
                check(append(row.pointer, *arguments(op.values)), op.kind)
            set_ops = self.library.dnnl_primitive_attr_set_post_ops
            check(set_ops(made.pointer, row.pointer), "post_ops")
        return made

    def primitive_desc(
        self,
        kind: str,
        *values: Any,
        hint: PrimitiveDesc | None = None,
        attributes: Handle | None = None,
    ) -> PrimitiveDesc | None:
        """A primitive of `kind`, such as "pooling_forward"; None if there is none.

        `values` follow the engine in the C function's order: tuples for dims, lists
        of Md for arrays of descriptors. `hint` is the forward one, for backward.
        """
        hints = (hint,) if "backward" in kind else ()
        engine = () if kind == "reorder" else (self._engine,)
        pointer = ctypes.c_void_p()
        create = getattr(self.library, f"dnnl_{kind}_primitive_desc_create")
        more = attributes or self._plain_attributes
        passed = arguments((*engine, *values, *hints, more))
        if self._absent(create(ctypes.byref(pointer), *passed), kind):
            return None
        destroy = self.library.dnnl_primitive_desc_destroy
        desc = PrimitiveDesc(pointer, destroy, values, hint)
        desc.library = self.library
        return desc

    def reorder(
        self, source: Md, target: Md, post_ops: Sequence[PostOp] = ()
    ) -> PrimitiveDesc | None:
        """The primitive that copies between two descriptors of the same extents."""
        engine = self._engine
        attributes = self.attributes(post_ops) if post_ops else None
        arrays = (source, engine, target, engine)
        return self.primitive_desc("reorder", *arrays, attributes=attributes)

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
        row = (_ExecArg * len(pairs))(*pairs)
        run = _Execute(
            self.library.dnnl_primitive_execute,
            primitive.pointer,
            self._stream.pointer,
            len(pairs),
            row,
        )
        run.keep = (primitive, dict(memories), self)
        return run

    def _make(self, kind: str, *values: Any) -> Handle:
        pointer = ctypes.c_void_p()
        create = getattr(self.library, f"dnnl_{kind}_create")
        check(create(ctypes.byref(pointer), *arguments(values)), f"{kind}_create")
        return Handle(pointer, getattr(self.library, f"dnnl_{kind}_destroy"), values)

    def _absent(self, status: int, what: str) -> bool:
        if status == Status.UNIMPLEMENTED:
            return True
        check(status, what)
        return False


class _Execute(partial[None]):
    """A bound `execute`, and what it must keep alive."""

    keep: object = None


def _check_execute(status: int) -> None:
    if status:
        check(status, "to execute a primitive")


def _declare(library: ctypes.CDLL) -> None:
    """Say what functions return where it is not a status, and how they are called."""
    library.dnnl_primitive_desc_query_md.restype = ctypes.c_void_p
    library.dnnl_memory_desc_get_size.restype = ctypes.c_size_t
    library.dnnl_fmt_tag2str.restype = ctypes.c_char_p
    library.dnnl_primitive_execute.restype = _check_execute
