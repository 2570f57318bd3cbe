"""The interface of a layer: what is computed, never on which engine.

A layer is made from its entry in the net and a Setting. The graph then calls, in
this order and once per build:

    setup(bottom)          read and check parameters; bottom shapes are known
    infer_shapes(bottom)   shapes of the tops; again whenever a bottom is reshaped
    param_specs(bottom)    learnable blobs and statistics
    saved_specs(bottom)    what forward keeps for backward

and the execution calls `forward` and `backward` on arrays. They write into
`top[i].data` and `bottom[i].diff`, never rebind them, and never add to what is
there: sums over several readers, shared params or iter_size are the plan's work.
A diff of None means that nobody asks for it.

A layer with an `operation` needs no forward and backward of its own: engines have
the arithmetic, and the reference definition is used where no engine offers more.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NoReturn, Protocol, TypeAlias

import numpy as np

from geeps_caffe.device.array import Array, ArrayModule, Shape, Shapes, count
from geeps_caffe.device.philox import Stream
from geeps_caffe.engines.functions import Functions
from geeps_caffe.engines.operations import Operation
from geeps_caffe.engines.reference import DEFINITIONS
from geeps_caffe.engines.reference.functions import ArrayFunctions
from geeps_caffe.errors import LayerError


@dataclass(frozen=True)
class Setting:
    """What surrounds a layer: phase, share of the work, where it stands."""

    phase: str = "TRAIN"  # or "TEST"
    place: str = ""  # "file:line" of the layer's entry
    rank: int = 0  # this worker
    ranks: int = 1  # all workers of the job
    global_batch: bool = False  # batch_size is shared out among the ranks
    own_data: bool = False  # the source holds this rank's records only
    whole_batches: bool = False  # batch i is of rank i mod `ranks`: in test nets
    data_threads: int = 0  # that decode and transform; 0: as the layer does
    synced: bool = False  # BatchNorm takes the statistics of all ranks' batches
    seed: int = 1  # of the run, the same on every rank
    level: int = 0
    stages: tuple[str, ...] = ()
    dtype: str = "float32"  # of the net's blobs


@dataclass(frozen=True)
class ParamSpec:
    """A learnable blob, or (`state`) statistics that forward itself updates."""

    shape: Shape
    filler: Any = None  # a FillerParameter message; None: zeros
    state: bool = False


@dataclass(frozen=True)
class SavedSpec:
    """An array that forward writes and backward reads; dtype None is the net's."""

    shape: Shape
    dtype: str | None = None


class Fit(Protocol):
    """Finds the memory of an array in a shape known only at run time."""

    def __call__(self, kind: str, block: Array, shape: Shape) -> Array:
        """The memory of "data" or "diff", whose planned block is given."""


class Blob:
    """A blob as a layer sees it: data, and diff where somebody asks for it.

    `fit` finds memory for another shape; by default the first elements are taken.
    """

    __slots__ = ("_block", "_diff_block", "_fit", "data", "diff")

    def __init__(
        self, data: Array, diff: Array | None = None, fit: Fit | None = None
    ) -> None:
        self._block, self._diff_block, self._fit = data, diff, fit or _first
        self.data = data
        self.diff = diff

    @property
    def shape(self) -> Shape:
        """The present shape of data."""
        return tuple(self.data.shape)

    def resize(self, shape: Shape) -> None:
        """Set a shape that is known only at run time."""
        self.data = self._fit("data", self._block, shape)
        if self._diff_block is not None:
            self.diff = self._fit("diff", self._diff_block, shape)


def first_elements(block: Array, shape: Shape) -> Array:
    """A view of the first elements of a block in a smaller shape."""
    if block.ndim and not any(block.strides):  # a stand-in, not to be read
        return np.broadcast_to(block.dtype.type("nan"), shape)
    return block.reshape(-1)[: count(shape)].reshape(shape)


def _first(kind: str, block: Array, shape: Shape) -> Array:
    del kind
    return first_elements(block, shape)


Blobs: TypeAlias = Sequence[Blob]


_IN_NUMPY = ArrayFunctions()


def _alone(values: Array) -> Array:
    return values


@dataclass
class Run:
    """What one call of forward or backward may use besides bottoms and tops.

    `total` adds float64 arrays up over all ranks; all must call it alike. `functions`
    is arithmetic that engines may have faster than `xp` has.
    """

    xp: ArrayModule
    params: Blobs  # the layer's learnable blobs and statistics
    saved: Sequence[Array]  # as saved_specs declared
    random: Stream  # a function of (seed, layer, iteration, global record index)
    iteration: int = 0
    total: Callable[[Array], Array] = _alone
    functions: Functions = _IN_NUMPY


class Layer:
    """A layer type. Subclasses say what differs from these defaults."""

    type_name: ClassVar[str] = ""
    bottoms: ClassVar[tuple[int, int | None]] = (1, 1)  # least and most; None: any
    tops: ClassVar[tuple[int, int | None]] = (1, 1)
    same_count: ClassVar[bool] = False  # as many tops as bottoms
    auto_tops: ClassVar[bool] = False  # tops that are not named are made (losses)
    in_place: ClassVar[bool] = False  # top 0 may be bottom 0's array
    is_loss: ClassVar[bool] = False  # top 0 has loss_weight 1 where none is given
    is_source: ClassVar[bool] = False  # tops come from records, not from bottoms
    shares: ClassVar[str] = ""  # "data" or "both": tops are views of bottom 0
    dynamic: ClassVar[bool] = False  # infer_shapes is an upper bound, see Blob.resize
    #: What backward reads besides top diffs, params and saved arrays: "bottom",
    #: "top", or single ones such as "bottom1".
    backward_reads: ClassVar[frozenset[str]] = frozenset({"bottom"})
    #: Bottoms that never get a gradient (labels), as Caffe's AllowForceBackward.
    no_gradient: ClassVar[frozenset[int]] = frozenset()
    #: Those of no_gradient that may well hang on learned layers: only their shape is
    #: read, and their gradient is zero.
    shape_only: ClassVar[frozenset[int]] = frozenset()

    def __init__(self, spec: Any, setting: Setting | None = None) -> None:
        self.spec = spec  # the LayerParameter message
        self.setting = setting or Setting()

    # -- build -----------------------------------------------------------------

    def setup(self, bottom: Shapes) -> None:
        """Read and check parameters; `bottom` are the shapes of the bottoms."""

    def infer_shapes(self, bottom: Shapes) -> Shapes:
        """The shapes of the tops (the bound of them for a dynamic layer)."""
        raise NotImplementedError

    def starting_shapes(self, bottom: Shapes) -> Shapes:
        """The tops' shapes as forward begins, at bottom shapes found at run time."""
        return self.infer_shapes(bottom)

    def param_specs(self, bottom: Shapes) -> Sequence[ParamSpec]:
        """The learnable blobs, in Caffe's order."""
        del bottom
        return ()

    def saved_specs(self, bottom: Shapes) -> Sequence[SavedSpec]:
        """What forward keeps for backward (not used by layers with an operation)."""
        del bottom
        return ()

    def operation(self) -> Operation | None:
        """The engine operation that is all of this layer, where there is one."""
        return None

    def remarks(self) -> Sequence[str]:
        """What may not be meant, though it can be computed; read after setup."""
        return ()

    def pending_shapes(self) -> Shapes | None:
        """A source's top shapes for the next forward, where they may change."""
        return None

    def keeps_gradient(self, index: int) -> bool:
        """Whether bottom `index` can get a gradient at all."""
        return index not in self.no_gradient

    # -- run -------------------------------------------------------------------

    def forward(self, run: Run, bottom: Blobs, top: Blobs) -> None:
        """Fill the tops' data."""
        operation = self._operation()
        ports = _data_ports(run, bottom, top)
        DEFINITIONS[type(operation)].forward(operation, run.xp, ports)

    def backward(self, run: Run, top: Blobs, bottom: Blobs) -> None:
        """Fill the diffs of bottoms and params that are asked for."""
        operation = self._operation()
        ports = _data_ports(run, bottom, top)
        for kind, blobs in (("top", top), ("bottom", bottom), ("param", run.params)):
            for i, blob in enumerate(blobs):
                if blob.diff is not None:
                    ports[f"{kind}{i}.diff"] = blob.diff
        DEFINITIONS[type(operation)].backward(operation, run.xp, ports)

    def close(self) -> None:
        """Give back files and threads (sources)."""

    # -- words -----------------------------------------------------------------

    @property
    def title(self) -> str:
        """The layer's name and type and where it stands, for messages."""
        place = f" at {self.setting.place}" if self.setting.place else ""
        return f"layer {self.spec.name!r} ({self.type_name}){place}"

    def fail(self, message: str) -> NoReturn:
        """Raise a LayerError that starts with the layer's title."""
        raise LayerError(f"{self.title}: {message}")

    def axis(self, axis: int, ndim: int, what: str = "axis") -> int:
        """`axis` counted from the front; the layer's error when it is out of range."""
        if not -ndim <= axis < ndim:
            self.fail(
                f"{what} {axis} is outside of the bottom's {ndim} axes; "
                f"expected {-ndim} to {ndim - 1}"
            )
        return axis % ndim

    def _operation(self) -> Operation:
        operation = self.operation()
        assert operation is not None, "a layer has forward and backward or an operation"
        return operation


def _data_ports(run: Run, bottom: Blobs, top: Blobs) -> dict[str, Array]:
    ports: dict[str, Array] = {}
    for kind, blobs in (("bottom", bottom), ("top", top), ("param", run.params)):
        ports |= {f"{kind}{i}": blob.data for i, blob in enumerate(blobs)}
    ports |= {f"saved{i}": array for i, array in enumerate(run.saved)}
    return ports


def saved_of_operation(
    operation: Operation, shapes: dict[str, Shape], dtype: np.dtype[Any]
) -> list[SavedSpec]:
    """The arrays that the reference definition of `operation` keeps for backward."""
    saved = DEFINITIONS[type(operation)].saved(operation, shapes, dtype.itemsize)
    return [SavedSpec(s.shape, s.dtype) for s in saved]
