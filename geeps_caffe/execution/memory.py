"""The memory behind a plan: the arena, the host arena, and the params' blocks."""

from collections.abc import Callable

import numpy as np

from geeps_caffe.device.array import Array, Shape, aligned, count
from geeps_caffe.device.device import Device, HostDevice
from geeps_caffe.layers.base import first_elements
from geeps_caffe.schedule.instructions import Fill, PlannedArray
from geeps_caffe.schedule.plan import Plan


class ParamMemory:
    """Blocks of bytes for params and their gradients, by array name.

    Parameters of tables are leases of the GeePS client, entered with `lend`;
    everything else (statistics, frozen params, nets without a solver) is made here
    at first use. Nets of other phases share it under their own names for the same
    blobs (`renamed`).
    """

    def __init__(self) -> None:
        self._blocks: dict[str, Array] = {}
        self._names: dict[str, str] = {}

    def lend(self, name: str, block: Array) -> None:
        """Put an array into memory that somebody else owns: flat uint8."""
        self._blocks[name] = block

    def block(self, name: str, nbytes: int, allocate: Callable[[int], Array]) -> Array:
        """The array's memory; zeros by `allocate` where it is new."""
        name = self._names.get(name, name)
        if name not in self._blocks:
            self._blocks[name] = allocate(aligned(nbytes))
        return self._blocks[name][:nbytes]

    def renamed(self, names: dict[str, str]) -> "ParamMemory":
        """A view for a net that calls the same blobs by other names."""
        other = ParamMemory()
        other._blocks, other._names = self._blocks, names
        return other

    def with_shared(self, other: "ParamMemory", names: dict[str, str]) -> "ParamMemory":
        """A copy in which `names` are the other's blocks, by its names for them."""
        shared = ParamMemory()
        shared._blocks, shared._names = dict(self._blocks), dict(self._names)
        for mine, theirs in names.items():
            shared._names.pop(mine, None)
            shared._blocks[mine] = other._blocks[other._names.get(theirs, theirs)]
        return shared


class TurnArena:
    """One block in which all nets of a job lie in turn, so that a budget holds.

    A plan whose values must outlive another net's run (inputs that a program has
    written) can't take turns and gets memory of its own.
    """

    def __init__(self, nbytes: int, device: Device | None = None) -> None:
        self._device = device or HostDevice()
        self._block = self._device.allocate(nbytes)

    def lend(self, plan: Plan) -> Array:
        """The memory for a plan's arena."""
        lasting = any(name in plan.final for name in plan.program.persistent)
        if lasting or plan.arena_bytes > self._block.size:
            return self._device.allocate(plan.arena_bytes)
        return self._block[: plan.arena_bytes]


class PlanMemory:
    """The arenas of one plan, and views of arrays in them.

    Arrays of shapes known only at run time may outgrow their places: then they lie in
    blocks of their own, one a storage, which are kept for the next time.
    """

    def __init__(
        self,
        plan: Plan,
        params: ParamMemory,
        device: Device,
        turns: TurnArena | None = None,
    ) -> None:
        self.plan = plan
        self.params = params
        self.device = device
        self.arena = turns.lend(plan) if turns else device.allocate(plan.arena_bytes)
        self.host = device.allocate_pinned(plan.host_bytes)
        self._sizes = plan.program.storage_bytes()
        self._larger: dict[str, Array] = {}

    def view(self, name: str, position: int) -> Array:
        """The array as instruction `position` finds it.

        Plain arrays have their shape; arrays in a layout of the engine's are flat
        uint8 blocks.
        """
        array = self.plan.program.arrays[name]
        if array.home != "arena":
            return shaped(array, self._param(name, array.layout.nbytes))
        offset = self.plan.places[position][array.storage]
        return shaped(array, self.arena[offset : offset + array.layout.nbytes])

    def after(self, name: str) -> Array:
        """The array between two steps: in the arena, or where it was swapped to."""
        array = self.plan.program.arrays[name]
        if array.storage in self.plan.program.leases:
            return shaped(array, self._cached(name, array.layout.nbytes))
        if array.home != "arena":
            return shaped(array, self._param(name, array.layout.nbytes))
        nbytes = array.layout.nbytes
        if array.storage in self.plan.final:
            offset = self.plan.final[array.storage]
            return shaped(array, self.arena[offset : offset + nbytes])
        offset = self.plan.host_offsets[array.storage]
        return shaped(array, self.host[offset : offset + nbytes])

    def fit(self, name: str, block: Array, shape: Shape) -> Array:
        """The array in a shape known at run time; `block` is its planned place."""
        if count(shape) <= block.size:
            return first_elements(block, shape)
        storage = self.plan.program.arrays[name].storage
        larger = self._larger.get(storage)
        if larger is None or larger.size < count(shape):
            nbytes = count(shape) * block.dtype.itemsize
            larger = self.device.allocate(nbytes).view(block.dtype)
            for entry in self.plan.instructions:  # a top's diff that nobody writes
                if isinstance(entry, Fill) and entry.array == name:
                    larger[...] = entry.value
            self._larger[storage] = larger
        return first_elements(larger, shape)

    def larger(self, name: str) -> Array | None:
        """The block of an array that has outgrown its place once."""
        return self._larger.get(self.plan.program.arrays[name].storage)

    def _param(self, name: str, nbytes: int) -> Array:
        return self.params.block(name, nbytes, self.device.allocate)

    def _cached(self, name: str, nbytes: int) -> Array:
        """What the arena has a copy of: in the host's memory, in a table or not."""
        return self.params.block(name, nbytes, self.device.allocate_pinned)

    def swap_block(self, storage: str, position: int) -> tuple[Array, Array]:
        """A storage's place in the arena at `position`, and its home in the host."""
        nbytes = self._sizes[storage]
        offset = self.plan.places[position][storage]
        lease = self.plan.program.leases.get(storage)
        if lease is not None:
            block = self._cached(lease, nbytes)
            return self.arena[offset : offset + nbytes], block
        home = self.plan.host_offsets[storage]
        return self.arena[offset : offset + nbytes], self.host[home : home + nbytes]


def shaped(array: PlannedArray, block: Array) -> Array:
    """A flat uint8 block as the array that engines and layers expect."""
    if not array.layout.plain:
        return block
    total = count(array.shape)
    return block.view(np.dtype(array.dtype))[:total].reshape(array.shape)
