"""What an engine answers: how an operation's arrays lie, and how it is run."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from geeps_caffe.device.array import Array, ArrayModule, Shape, count
from geeps_caffe.device.device import Call as Call
from geeps_caffe.device.device import Device
from geeps_caffe.device.philox import Stream
from geeps_caffe.engines.functions import Functions
from geeps_caffe.engines.operations import Operation


@dataclass(frozen=True)
class Layout:
    """How an array's elements lie in memory.

    `name` is "plain" (C order, no padding) or a name of the engine's own, such as
    "aBcd16b". Two layouts with one name and one shape are the same.
    """

    name: str
    nbytes: int  # padding included

    @property
    def plain(self) -> bool:
        """Whether elements are in C order, without padding."""
        return self.name == "plain"


def plain_layout(shape: Shape, dtype: npt.DTypeLike = np.float32) -> Layout:
    """The layout of an ordinary C-order array."""
    return Layout("plain", count(shape) * np.dtype(dtype).itemsize)


def plain_rows(shape: Shape, layout: Layout, rows: int) -> Layout | None:
    """`Engine.rows_layout` of an engine that has no layouts but plain ones."""
    if not layout.plain or not shape or rows > shape[0]:
        return None
    return Layout("plain", layout.nbytes // shape[0] * rows)


@dataclass(frozen=True)
class Request:
    """One pass of an operation over arrays of given shapes.

    `shapes` names every port that takes part: those that are read and those that
    are to be written (a gradient that nobody asks for is absent). `given` holds
    the layouts that are fixed already (inputs as they come, weights as the table
    has them); the engine may ask for others, then the plan inserts reorders.

    With `parts` a record's result must be the same bits in any batch that is made in
    parts of as many records, on any number of threads. The gradients of params, which
    are then asked for without the bottom's, are the sums of those of the parts (part g
    of n has the records g, g + n, ...), by `device.tree`.
    """

    operation: Operation
    direction: str  # "forward" or "backward"
    shapes: Mapping[str, Shape]
    given: Mapping[str, Layout] = field(default_factory=dict)
    dtype: npt.DTypeLike = np.float32
    training: bool = True  # False: forward alone, nothing is saved for backward
    parts: int = 0

    @property
    def sums(self) -> bool:
        """Whether gradients are asked for that are sums over records."""
        diffs = (port for port in self.shapes if port.endswith(".diff"))
        return any(port.startswith("param") for port in diffs)


@dataclass(frozen=True)
class SavedArray:
    """What forward leaves for backward: a mask, statistics, a workspace."""

    nbytes: int
    shape: Shape = ()
    dtype: str = "uint8"


@dataclass(frozen=True)
class Description:
    """An engine's answer to a Request, before any array exists.

    `layouts` has an entry for each port that the pass touches, no more: a backward
    pass that does not name `bottom0` does not read it.
    """

    layouts: Mapping[str, Layout]
    saved: tuple[SavedArray, ...] = ()  # of the forward pass
    scratch: int = 0  # bytes, used only while the pass runs
    implementation: str = ""  # shown by `geeps-caffe plan`


class MomentumCall(Protocol):
    """The bound update of some weights; see `Engine.bind_momentum`."""

    def __call__(self, rate: float, decay: float, scale: float) -> None:
        """Do one update."""
        ...


class RuleCall(Protocol):
    """A solver's rule over some weights, bound; see `Updates.bind_rule`."""

    def __call__(self, numbers: tuple[float, ...]) -> None:
        """Do one update.

        Args:
            numbers: the gradient's scale, the weight decay, 1 for an L1 penalty, and
                those of the rule, as its kernel takes them.
        """
        ...


Draw: TypeAlias = Callable[[Stream, Shape], Array]  # see `Stream.bits`


class Updates(Protocol):
    """Arithmetic on tables where they lie on a device."""

    def bind_rule(
        self, rule: str, weights: Array, grad: Array, slots: Sequence[Array]
    ) -> RuleCall:
        """A rule by its solver type over flat arrays, changed in place."""
        ...

    def bind_add(self, source: Array, target: Array) -> Call:
        """target += source, over flat arrays."""
        ...

    def sum_of_squares(self, array: Array) -> float:
        """Of a flat array; the same on every run."""
        ...


class Lanes(Protocol):
    """The same engine on single threads, side by side.

    What is bound for a lane gives the same bits however many threads the engine has.
    """

    @property
    def count(self) -> int:
        """How many calls can run at the same time."""
        ...

    def describe(self, request: Request) -> Description | None:
        """`Engine.describe`, for one thread."""
        ...

    def bind(
        self,
        lane: int,
        request: Request,
        description: Description,
        arrays: Mapping[str, Array],
        scratch: Array | None,
    ) -> Call:
        """`Engine.bind`, for a call that only this lane of `abreast` runs."""
        ...

    def abreast(self, rows: Sequence[Sequence[Call]]) -> Call:
        """The call that runs rows of calls, each row on a lane of its own, in order."""
        ...


class Engine(Protocol):
    """One way to compute: NumPy, oneDNN, CUDA.

    `describe` touches no array and works without the device; `bind` fixes arrays
    once and returns what a step calls. Arrays are given as flat uint8 blocks of
    layout.nbytes bytes for layouts of the engine's own, and as shaped arrays for
    plain ones.
    """

    name: str

    @property
    def xp(self) -> ArrayModule:
        """What layers compute with: NumPy or CuPy."""
        ...

    @property
    def device(self) -> Device:
        """Where its arrays live; opened when it is first asked for."""
        ...

    @property
    def updates(self) -> Updates | None:
        """Arithmetic on tables on the device; None where NumPy can do it."""
        ...

    @property
    def lanes(self) -> Lanes | None:
        """Single threads of its own; None where sums differ from run to run anyway."""
        ...

    @property
    def draw(self) -> Draw | None:
        """Draws random bits on the device; None where NumPy does."""
        ...

    def functions(self, dtype: npt.DTypeLike) -> Functions:
        """What layers' own code asks for, over arrays of a float type."""
        ...

    def describe(self, request: Request) -> Description | None:
        """How `request` would run; None where this engine can't do it exactly."""
        ...

    def bind(
        self,
        request: Request,
        description: Description,
        arrays: Mapping[str, Array],
        scratch: Array | None,
    ) -> Call:
        """The call that runs the pass on these arrays; it keeps references to them."""
        ...

    def bind_reorder(
        self,
        shape: Shape,
        source: tuple[Array, Layout],
        target: tuple[Array, Layout],
        dtype: npt.DTypeLike,
    ) -> Call:
        """The call that copies an array from one layout to another."""
        ...

    def rows_layout(self, shape: Shape, layout: Layout, rows: int) -> Layout | None:
        """How `rows` rows (axis 0) lie, where each so many rows lie together.

        None where an array of this shape and layout can't be cut so: the first slice
        must begin where the array does, and each other where the one before ends.
        """
        ...

    def bind_momentum(
        self,
        weights: Array,
        grad: Array,
        history: Array,
        momentum: float,
        *,
        exact: bool = False,
    ) -> MomentumCall | None:
        """The update rule of SGD in one pass over flat arrays, changed in place.

            history = momentum history + rate (scale grad + decay weights)
            weights = weights - history

        With `exact` each product and sum is rounded, as `solvers.sgd` does.
        None where this engine has nothing faster than NumPy for such arrays.
        """
        ...
