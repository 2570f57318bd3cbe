"""The instructions of a plan and the arrays that they touch, as plain values.

Every instruction answers `reads` and `writes` (names of arrays), `queue` (what it
runs on) and `text` (its line in a printed plan).
"""

from dataclasses import dataclass
from typing import TypeAlias

from geeps_caffe.device.array import Shape
from geeps_caffe.engines.engine import Description, Layout, Request


@dataclass(frozen=True)
class PlannedArray:
    """An array by name; arrays with one storage lie in the same memory.

    There they either replace each other (a layer in place writes over its bottom), or
    one is a view of the other: the same values under another name or shape.

    `home` is where the memory comes from. "arena": planned offsets; "table": a lease of
    the GeePS client on parameters; "gradient": a lease on an update buffer; "state":
    statistics that belong to this worker.
    """

    name: str
    shape: Shape
    dtype: str
    layout: Layout
    storage: str
    home: str = "arena"
    view_of: str | None = None  # the array whose values these are


@dataclass(frozen=True)
class Load:
    """A source layer fills its tops with the next records."""

    node: int
    name: str
    writes: tuple[str, ...]
    reads: tuple[str, ...] = ()
    queue: str = "host"

    @property
    def text(self) -> str:
        """The line of a printed plan."""
        return f"load {self.name}"


@dataclass(frozen=True)
class Compute:
    """One pass of a layer or operation; `ports` pairs port names with array names."""

    direction: str  # "forward" or "backward"
    node: int
    name: str
    ports: tuple[tuple[str, str], ...]
    request: Request | None = None  # None: the layer's own array-module code
    description: Description | None = None
    updates: tuple[str, ...] = ()  # arrays that are read and written (statistics)
    scratch: str | None = None
    queue: str = "compute"

    @property
    def reads(self) -> tuple[str, ...]:
        """Arrays that must hold their values before."""
        return tuple(a for p, a in self.ports if not self._written(p)) + self.updates

    @property
    def writes(self) -> tuple[str, ...]:
        """Arrays that hold new values afterwards."""
        scratch = (self.scratch,) if self.scratch else ()
        written = tuple(a for p, a in self.ports if self._written(p))
        return written + self.updates + scratch

    def _written(self, port: str) -> bool:
        if self.direction == "forward":
            return port.startswith(("top", "saved"))
        return port.endswith(".diff") and not port.startswith("top")

    @property
    def text(self) -> str:
        """The line of a printed plan."""
        how = self.description.implementation if self.description else "layer code"
        return f"{self.direction} {self.name} [{how}]"


@dataclass(frozen=True)
class Reorder:
    """Copy an array into another layout."""

    source: str
    target: str
    queue: str = "compute"

    @property
    def reads(self) -> tuple[str, ...]:
        """The source."""
        return (self.source,)

    @property
    def writes(self) -> tuple[str, ...]:
        """The target."""
        return (self.target,)

    @property
    def text(self) -> str:
        """The line of a printed plan."""
        return f"reorder {self.source} -> {self.target}"


@dataclass(frozen=True)
class Fill:
    """Set every element of an array.

    `when`: "step" (each time), "once" (when the plan is bound) or "first" (before
    the first of the batches whose gradients are added up). One that `lasts` must have
    its values there before the other batches, in which nothing is filled.
    """

    array: str
    value: float
    when: str = "step"
    lasts: bool = False
    queue: str = "compute"

    @property
    def reads(self) -> tuple[str, ...]:
        """The array, if it lasts."""
        return (self.array,) if self.lasts else ()

    @property
    def writes(self) -> tuple[str, ...]:
        """The array."""
        return (self.array,)

    @property
    def text(self) -> str:
        """The line of a printed plan."""
        often = "" if self.when == "step" else f" ({self.when})"
        return f"fill {self.array} = {self.value:g}{often}"


@dataclass(frozen=True)
class Accumulate:
    """target += source: shared params, iter_size, and nets driven from Python."""

    source: str
    target: str
    queue: str = "compute"

    @property
    def reads(self) -> tuple[str, ...]:
        """Both arrays."""
        return (self.source, self.target)

    @property
    def writes(self) -> tuple[str, ...]:
        """The target."""
        return (self.target,)

    @property
    def text(self) -> str:
        """The line of a printed plan."""
        return f"accumulate {self.source} into {self.target}"


@dataclass(frozen=True)
class Table:
    """A call of the GeePS client: read, post_read, pre_update or update of a table."""

    call: str
    table: str
    arrays: tuple[str, ...] = ()  # opened (written) or handed in (read)
    queue: str = "pull"

    @property
    def reads(self) -> tuple[str, ...]:
        """Arrays whose values are handed in."""
        return self.arrays if self.call in ("update", "post_read") else ()

    @property
    def writes(self) -> tuple[str, ...]:
        """Arrays that the call makes usable."""
        return self.arrays if self.call in ("read", "pre_update") else ()

    @property
    def text(self) -> str:
        """The line of a printed plan."""
        return f"{self.call} table {self.table}"


@dataclass(frozen=True)
class UpdateRows:
    """Gradients of a layer's weights, some rows at a time, each handed in at once.

    Ports are those of the backward pass; the array at `param0.diff` holds `rows` rows.
    `request` and `last` ask for the gradients of so many rows, and of those that are
    left at the end. The scratch holds their columns of the top's diff as well.
    """

    node: int
    name: str
    key: str  # of the weights
    table: str
    ports: tuple[tuple[str, str], ...]
    rows: int
    request: Request
    description: Description
    last: tuple[Request, Description] | None
    scratch: str
    queue: str = "push"

    @property
    def reads(self) -> tuple[str, ...]:
        """What gradients are made of."""
        return tuple(a for p, a in self.ports if p in ("bottom0", "top0.diff"))

    @property
    def writes(self) -> tuple[str, ...]:
        """The rows, the bias's gradient and the scratch."""
        written = (a for p, a in self.ports if p in ("param0.diff", "param1.diff"))
        return (*written, self.scratch)

    @property
    def text(self) -> str:
        """The line of a printed plan."""
        how = self.description.implementation
        return f"update {self.name} by {self.rows} rows [{how}]"


@dataclass(frozen=True)
class ParamParts:
    """Gradients of a layer's params, one for each part of the batch.

    Part g of n has the records g, g + n, g + 2n, ... of the batch. `request` asks for
    the gradients of one part; the arrays at `param0.diff` and `param1.diff` have a row
    for each part. Parts are made on `lanes` threads, each with its share of the
    scratch: the part's records, its gradients where they are to be added, the engine's.
    """

    node: int
    name: str
    ports: tuple[tuple[str, str], ...]
    parts: int
    request: Request
    description: Description
    adds: bool  # to what the rows hold
    lanes: int
    scratch: str
    queue: str = "compute"

    @property
    def reads(self) -> tuple[str, ...]:
        """What gradients are made of, and what they are added to."""
        made = () if self.adds else ("param0.diff", "param1.diff")
        return tuple(a for p, a in self.ports if p not in made)

    @property
    def writes(self) -> tuple[str, ...]:
        """The parts' gradients and the scratch."""
        written = (a for p, a in self.ports if p in ("param0.diff", "param1.diff"))
        return (*written, self.scratch)

    @property
    def text(self) -> str:
        """The line of a printed plan."""
        how = self.description.implementation
        return f"backward {self.name} in {self.parts} parts [{how}]"


@dataclass(frozen=True)
class AddParts:
    """Each target is the sum of its source's rows, as `device.tree` adds."""

    sources: tuple[str, ...]
    targets: tuple[str, ...]
    queue: str = "compute"

    @property
    def reads(self) -> tuple[str, ...]:
        """The rows."""
        return self.sources

    @property
    def writes(self) -> tuple[str, ...]:
        """The sums."""
        return self.targets

    @property
    def text(self) -> str:
        """The line of a printed plan."""
        return f"add up the parts of {', '.join(self.targets)}"


@dataclass(frozen=True)
class Clock:
    """The end of an iteration's accesses to the tables."""

    queue: str = "push"
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    text: str = "clock"


@dataclass(frozen=True)
class SwapOut:
    """Copy a storage from the arena to its home in host memory; its place is free."""

    storage: str
    queue: str = "copy-out"
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The line of a printed plan."""
        return f"swap out {self.storage}"


@dataclass(frozen=True)
class SwapIn:
    """Copy a storage from host memory to a place in the arena."""

    storage: str
    queue: str = "copy-in"
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The line of a printed plan."""
        return f"swap in {self.storage}"


Instruction: TypeAlias = (
    Load
    | Compute
    | Reorder
    | Fill
    | Accumulate
    | Table
    | UpdateRows
    | ParamParts
    | AddParts
    | Clock
    | SwapOut
    | SwapIn
)
