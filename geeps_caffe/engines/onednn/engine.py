"""OneDnnEngine: describes passes by their recipes, and puts arrays under them."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import numpy as np
import numpy.typing as npt

from geeps_caffe.device.array import Array, ArrayModule, Shape, allocate
from geeps_caffe.device.device import Device, HostDevice
from geeps_caffe.device.ordering import in_turn
from geeps_caffe.device.processor import processor
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
from geeps_caffe.engines.onednn.recipe import Kit
from geeps_caffe.engines.onednn.recipes import Recipes
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
        self.kit = Kit(api, Layouts(api), vendor=processor("vendor_id"))
        self._recipes = Recipes(self.kit)
        self.lanes: Lanes = OneDnnLanes(library, self.threads, self._lane)

    def _lane(self) -> Recipes:
        """A stream of its own; layouts have the same names everywhere."""
        return Recipes(replace(self.kit, api=Api(self._library)))

    def describe(self, request: Request) -> Description | None:
        """How `request` would run; None where oneDNN can't do exactly as Caffe.

        A forward pass for training is refused where its backward would be.
        """
        if request.parts and not request.sums:
            description = describe_parts(self.lanes, request)
        else:
            description = self._recipes.describe(request)
        if description is None:
            return None
        trains = request.training and request.direction == "forward"
        if trains and not self._recipes.find(_full_backward(request, description)):
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
        if request.parts and not request.sums:
            return bind_parts(self.lanes, request, description, arrays, scratch)
        return self._recipes.bind(request, description, arrays, scratch)

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
        parts=0,
    )


def _only_params(layouts: Mapping[str, Layout]) -> dict[str, Layout]:
    return {port: x for port, x in layouts.items() if port.startswith("param")}
