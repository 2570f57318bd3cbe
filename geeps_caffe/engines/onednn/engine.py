"""OneDnnEngine: describes passes by their recipes, and puts arrays under them."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import numpy as np
import numpy.typing as npt

from geeps_caffe.device.array import Array, ArrayModule, Shape, aligned, allocate
from geeps_caffe.device.device import Device, HostDevice
from geeps_caffe.engines.engine import (
    Call,
    Description,
    Draw,
    Lanes,
    Layout,
    Request,
    Updates,
    plain_rows,
)
from geeps_caffe.engines.functions import Functions
from geeps_caffe.engines.onednn import OPERATIONS
from geeps_caffe.engines.onednn.api import Api
from geeps_caffe.engines.onednn.by_parts import bind_parts, describe_parts
from geeps_caffe.engines.onednn.constants import Arg, Query
from geeps_caffe.engines.onednn.descriptors import Handle, Md
from geeps_caffe.engines.onednn.lanes import OneDnnLanes
from geeps_caffe.engines.onednn.layouts import Layouts
from geeps_caffe.engines.onednn.library import (
    OneDnnError,
    Version,
    open_library,
    read_version,
)
from geeps_caffe.engines.onednn.momentum import LEAST, Momentum
from geeps_caffe.engines.onednn.recipe import HostFunction, HostStep, Kit, Recipe, Step
from geeps_caffe.engines.onednn.threads import (
    hold_blas_to_one_thread,
    openmp_threads,
    prepare_environment,
    set_openmp_threads,
)
from geeps_caffe.engines.reference.functions import ArrayFunctions


class OneDnnEngine:
    """oneDNN on this machine's cores. float32 only; run it on the thread that opens it.

    Raises:
        OneDnnMissing: the library was not found.
        OneDnnError: what was found can't be used.
    """

    name = "onednn"
    xp: ArrayModule = np
    updates: Updates | None = None
    draw: Draw | None = None

    def __init__(self, threads: int | None = None) -> None:
        self.device: Device = HostDevice()
        prepare_environment(threads)
        library = open_library()
        if threads is not None:  # else OMP_NUM_THREADS or the cores that we may use
            set_openmp_threads(library, threads)
        self.threads = openmp_threads(library)
        hold_blas_to_one_thread()
        self.version: Version = read_version(library)
        self._library = library
        api = Api(library)
        self.kit = Kit(api, Layouts(api))
        self.lanes: Lanes = OneDnnLanes(
            library, self.threads, self._lane_kit, _described, _bound
        )

    def _lane_kit(self) -> Kit:
        """A stream of its own; layouts have the same names everywhere."""
        return Kit(Api(self._library), self.kit.layouts)

    def describe(self, request: Request) -> Description | None:
        """How `request` would run; None where oneDNN can't do exactly as Caffe.

        A forward pass for training is refused where its backward would be.
        """
        if request.parts:
            description = describe_parts(self.lanes, request)
        else:
            description = _described(self.kit, request)
        if description is None:
            return None
        trains = request.training and request.direction == "forward"
        if trains and _recipe(self.kit, _full_backward(request, description)) is None:
            return None
        return description

    def functions(self, dtype: npt.DTypeLike) -> Functions:
        """NumPy's."""
        del dtype
        return ArrayFunctions()

    def bind(
        self,
        request: Request,
        description: Description,
        arrays: Mapping[str, Array],
        scratch: Array | None,
    ) -> Call:
        """The call that runs the pass; float32 arrays as `description` lays them out.

        Padding in arrays that are read must be zero; in those written it becomes so.
        """
        if request.parts:
            return bind_parts(self.lanes, request, description, arrays, scratch)
        return _bound(self.kit, request, description, arrays, scratch)

    def bind_reorder(
        self,
        shape: Shape,
        source: tuple[Array, Layout],
        target: tuple[Array, Layout],
        dtype: npt.DTypeLike,
    ) -> Call:
        """The call that copies an array from one layout to another."""
        (read, from_layout), (written, to_layout) = source, target
        if from_layout.plain and to_layout.plain:
            return partial(np.copyto, written.reshape(shape), read.reshape(shape))
        if np.dtype(dtype) != np.float32:
            raise OneDnnError(f"layouts of oneDNN are of float32, not {dtype}")
        mine = self.kit.layouts.own(from_layout, shape)
        yours = self.kit.layouts.own(to_layout, shape)
        if from_layout.plain:
            mine = self.kit.api.plain(yours.dims)
        elif to_layout.plain:
            yours = self.kit.api.plain(mine.dims)
        if mine.dims != yours.dims:  # two reshapes: by way of a plain copy
            plain = Layout("plain", 4 * int(np.prod(shape)))
            between = allocate(plain.nbytes).view(np.float32).reshape(shape)
            first = self.bind_reorder(shape, source, (between, plain), dtype)
            second = self.bind_reorder(shape, (between, plain), target, dtype)
            return in_turn([first, second])
        return self._copy((read, mine), (written, yours))

    def rows_layout(self, shape: Shape, layout: Layout, rows: int) -> Layout | None:
        """Rows lie together by blocks, if no other axis is outside of theirs."""
        if layout.plain:
            return plain_rows(shape, layout, rows)
        return self.kit.layouts.rows(shape, layout, rows)

    def bind_momentum(
        self,
        weights: Array,
        grad: Array,
        history: Array,
        momentum: float,
        *,
        exact: bool = False,
    ) -> Momentum | None:
        """See Engine; for float32, and not for small arrays."""
        if weights.dtype != np.float32 or weights.size < LEAST:
            return None
        return Momentum(self.kit.api, weights, grad, history, momentum, exact=exact)

    def _copy(self, source: tuple[Array, Md], target: tuple[Array, Md]) -> Call:
        desc = self.kit.api.reorder(source[1], target[1])
        if desc is None:
            raise OneDnnError("oneDNN has no copy between two of its layouts")
        memories: dict[Arg | int, Handle] = {
            Arg.SRC: self.kit.api.memory(source[1], source[0]),
            Arg.DST: self.kit.api.memory(target[1], target[0]),
        }
        if desc.scratch:
            pad = desc.md(Query.SCRATCHPAD)
            memories[Arg.SCRATCHPAD] = self.kit.api.memory(pad, allocate(pad.nbytes))
        return self.kit.api.bind(desc, memories)


def _recipe(kit: Kit, request: Request) -> Recipe | None:
    if np.dtype(request.dtype) != np.float32:
        return None
    if any(0 in shape or not shape for shape in request.shapes.values()):
        return None
    make = OPERATIONS.get(type(request.operation))
    return None if make is None else make(kit, request)


def _described(kit: Kit, request: Request) -> Description | None:
    recipe = _recipe(kit, request)
    if recipe is None:
        return None
    return Description(
        dict(recipe.layouts),
        tuple(recipe.saved),
        recipe.scratch,
        recipe.implementation,
    )


def _bound(
    kit: Kit,
    request: Request,
    description: Description,
    arrays: Mapping[str, Array],
    scratch: Array | None,
) -> Call:
    recipe = _recipe(kit, request)
    assert recipe is not None, "a request is described before it is bound"
    assert recipe.scratch <= description.scratch, "another request was described"
    return Binder(recipe, arrays, scratch).call()


def _full_backward(request: Request, forward: Description) -> Request:
    """The backward pass that asks for every gradient there is.

    Inputs lie as they are given to forward, the table as forward asks for it.
    """
    shapes = dict(request.shapes)
    shapes |= {f"{port}.diff": shape for port, shape in request.shapes.items()}
    given = {p: x for p, x in forward.layouts.items() if not p.startswith("bottom")}
    return replace(
        request,
        direction="backward",
        shapes=shapes,
        given={**given, **request.given, **_only_params(given)},
    )


def _only_params(layouts: Mapping[str, Layout]) -> dict[str, Layout]:
    return {port: x for port, x in layouts.items() if port.startswith("param")}


class Binder:
    """Arrays under one recipe."""

    def __init__(
        self, recipe: Recipe, arrays: Mapping[str, Array], scratch: Array | None
    ) -> None:
        self._recipe = recipe
        self._api = recipe.kit.api
        self._buffers = {port: arrays[port] for port in recipe.layouts}
        self._buffers |= recipe.constants
        start = 0
        for name, md in recipe.temporaries.items():
            assert scratch is not None
            self._buffers[name] = scratch[start : start + md.nbytes]
            start += aligned(md.nbytes)
        self._scratchpad = None if scratch is None else scratch[start:]

    def call(self) -> Call:
        """The call that runs all steps."""
        return in_turn([self._step(step) for step in self._recipe.steps])

    def _step(self, step: Step | HostStep) -> Call:
        if isinstance(step, HostStep):
            return self._host(step.function)
        memories = {
            arg: self._api.memory(md, self._buffers[name])
            for arg, (name, md) in step.uses.items()
        }
        if step.desc.scratch:
            assert self._scratchpad is not None
            pad = step.desc.md(Query.SCRATCHPAD)
            memories[Arg.SCRATCHPAD] = self._api.memory(pad, self._scratchpad)
        return self._api.bind(step.desc, memories)

    def _host(self, function: HostFunction) -> Call:
        return partial(function, self._buffers)


def in_turn(calls: list[Call]) -> Call:
    """One call that makes several, one after the other."""
    if len(calls) == 1:
        return calls[0]
    row = tuple(calls)

    def run() -> None:
        for call in row:
            call()

    return run
