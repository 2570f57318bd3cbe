"""A program: arrays and instructions of one iteration, before memory is planned."""

from dataclasses import dataclass, field

import numpy as np

from geeps_caffe.config.param_cache import ParamCache
from geeps_caffe.device.array import Shape
from geeps_caffe.engines.engine import Layout, plain_layout
from geeps_caffe.schedule.instructions import Fill, Instruction, PlannedArray, Reorder


@dataclass(frozen=True)
class Options:
    """What a program is made for."""

    dtype: str = "float32"
    backward: bool = True
    #: Every blob keeps its own memory and stays readable (nets driven from Python).
    keep_all: bool = False
    #: Gradients are added to what is there (nets driven from Python, iter_size > 1).
    accumulate: bool = False
    #: Values that must be readable after the step: outputs, losses.
    keep: frozenset[str] = frozenset()
    #: Names of `passes` that are not to run.
    without: frozenset[str] = frozenset()
    #: Nobody reads gradients of tables: an update may be applied as it is made.
    by_rows: bool = False
    #: Params and gradients pass through the arena (a device that can't reach leases).
    param_cache: ParamCache | None = None


@dataclass
class Program:
    """Arrays by name, instructions in order; made by `compile_program`."""

    options: Options
    arrays: dict[str, PlannedArray] = field(default_factory=dict)
    instructions: list[Instruction] = field(default_factory=list)
    #: Storages that hold values from step to step: inputs, output diffs, gradients.
    persistent: set[str] = field(default_factory=set)
    #: First instruction of the backward pass.
    backward_start: int = 0
    #: Value name -> array of its data, and of its diff, as layers wrote them.
    data: dict[str, str] = field(default_factory=dict)
    diff: dict[str, str] = field(default_factory=dict)
    #: Param key -> array; gradient arrays are named key + ".diff".
    params: dict[str, str] = field(default_factory=dict)
    #: Param key -> table of the GeePS client; params without one are local.
    tables: dict[str, str] = field(default_factory=dict)
    #: Storages of the arena whose home is the client's memory -> the array that is
    #: leased: params come in from there, gradients go out to there.
    leases: dict[str, str] = field(default_factory=dict)
    #: Values whose shape is known only at run time.
    dynamic: frozenset[str] = frozenset()
    #: Names that arrays of the arena don't take: those of params and gradients.
    reserved: frozenset[str] = frozenset()
    #: Copies that were made so far, by array and name of their layout.
    copies: dict[tuple[str, str], str] = field(default_factory=dict)
    #: Copy -> the node and the half, forward or backward, that it was made for last.
    _copied_at: dict[str, tuple[int, bool]] = field(default_factory=dict)
    #: For each instruction, the index of the node that it serves.
    owners: list[int] = field(default_factory=list)
    #: The node that is being compiled.
    node: int = 0

    def emit(self, instruction: Instruction) -> None:
        """Append an instruction for the present node."""
        self.instructions.append(instruction)
        self.owners.append(self.node)

    def add(
        self,
        name: str,
        shape: Shape,
        layout: Layout | None = None,
        *,
        storage: str | None = None,
        home: str = "arena",
        dtype: str | None = None,
        view_of: str | None = None,
    ) -> str:
        """Enter an array and return its name, changed where another has it already.

        It has a storage of its own, unless it replaces what is in another `storage`
        or is a view of another array. Params and their gradients keep their names.
        """
        if home == "arena":
            while name in self.arrays or name in self.reserved:
                name += "'"
        assert name not in self.arrays, name
        kind = dtype or self.options.dtype
        layout = layout or plain_layout(shape, kind)
        if view_of is not None:
            storage = self.arrays[view_of].storage
        self.arrays[name] = PlannedArray(
            name, tuple(shape), kind, layout, storage or name, home, view_of
        )
        return name

    def add_leased(self, name: str, shape: Shape, layout: Layout, home: str) -> str:
        """Enter a param or gradient; with a param cache it has a place in the arena."""
        if self.options.param_cache is None:
            return self.add(name, shape, layout, home=home)
        assert name not in self.arrays, name
        kind = self.options.dtype
        self.arrays[name] = PlannedArray(name, tuple(shape), kind, layout, name)
        self.leases[name] = name
        return name

    def in_layout(self, name: str, layout: Layout) -> str:
        """The array itself, or a copy of it that a Reorder brings into `layout`."""
        array = self.arrays[name]
        if array.layout.name == layout.name:
            return name
        return self._copied(name, layout.name, array.shape, layout)

    def reshaped(self, name: str, shape: Shape) -> str:
        """The array itself, or a copy in C order that has another shape."""
        array = self.arrays[name]
        if array.shape == tuple(shape):
            return name
        return self._copied(name, str(shape), shape)

    def _copied(
        self, name: str, kind: str, shape: Shape, layout: Layout | None = None
    ) -> str:
        """A copy of an array, made once.

        Python may change an array and run only the layers from here on; where it may,
        each layer copies anew, forward and backward.
        """
        place = (self.node, self.backward_start > 0)
        made = self.copies.get((name, kind))
        if made is None:
            made = self.add(
                f"{name}@{kind}", shape, layout, dtype=self.arrays[name].dtype
            )
            self.copies[name, kind] = made
        elif not self.options.keep_all or self._copied_at[made] == place:
            return made
        self._copied_at[made] = place
        self.emit(Reorder(name, made))
        return made

    def plain(self, name: str) -> str:
        """The array in C order."""
        array = self.arrays[name]
        return self.in_layout(name, plain_layout(array.shape, array.dtype))

    def root(self, name: str) -> str:
        """The array whose values an array shows: itself, unless it is a view."""
        while (source := self.arrays[name].view_of) is not None:
            name = source
        return name

    def storage_bytes(self) -> dict[str, int]:
        """Bytes of every storage that the arena must place."""
        sizes: dict[str, int] = {}
        for array in self.arrays.values():
            if array.home == "arena":
                size = max(array.layout.nbytes, 1)
                sizes[array.storage] = max(size, sizes.get(array.storage, 0))
        return sizes

    @property
    def added_up(self) -> list[str]:
        """Arrays that start at zero and get the gradients of several passes."""
        fills = (entry for entry in self.instructions if isinstance(entry, Fill))
        return [fill.array for fill in fills if fill.when == "first"]

    def itemsize(self) -> int:
        """Bytes of one element of the net's dtype."""
        return int(np.dtype(self.options.dtype).itemsize)
