"""What has memory and runs calls: the host, or a GPU.

An executor takes all its memory from the device of its engine, moves data between it
and the host through it, and has its calls put in order by it.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol, TypeAlias

from geeps_caffe.device.array import Array, allocate
from geeps_caffe.device.events import Segment, Step

Call: TypeAlias = Callable[[], object]

POISON = 0xFF  # in every byte: NaN as a float


class Device(Protocol):
    """See `HostDevice` and `backend.CudaDevice`."""

    @property
    def on_host(self) -> bool:
        """Whether its arrays are NumPy's, to be read and written by anybody."""
        ...

    @property
    def captures(self) -> bool:
        """Whether calls can be captured as graphs; see `with_graphs`."""
        ...

    def allocate(self, nbytes: int) -> Array:
        """A zeroed block of bytes: an arena."""
        ...

    def allocate_pinned(self, nbytes: int) -> Array:
        """A zeroed NumPy block that its copy engines reach without a detour."""
        ...

    def pin(self, block: Array) -> bool:
        """Let its copy engines reach memory of the host; whether that can be done."""
        ...

    def unpin(self, block: Array) -> None:
        """The memory may be given back."""
        ...

    def to_host(self, array: Array) -> Array:
        """The array itself where it is on the host; else a copy, after all work."""
        ...

    def write(self, target: Array, source: Array) -> None:
        """Overwrite an array by one of the host, after all work on it so far."""
        ...

    def bind_copy_in(self, host: Array, device: Array) -> Call:
        """What copies a block of the host to one of the device."""
        ...

    def bind_copy_out(
        self, device: Array, host: Array, *, poison: bool = False
    ) -> Call:
        """The way back; with `poison` the block holds NaN then."""
        ...

    def start_copy_in(self, host: Array, device: Array) -> Call:
        """Start such a copy once all that was computed so far is done.

        What is returned lets all that is computed from then on wait for it.
        """
        ...

    def in_order(self, steps: Sequence[Step], calls: Sequence[Call]) -> list[Call]:
        """The calls with whatever makes each wait for those that it depends on."""
        ...

    def with_graphs(
        self, segments: Sequence[Segment], steps: Sequence[Step], calls: Sequence[Call]
    ) -> list[Call]:
        """A call for each segment, what is captured in one launch; see `graphs`."""
        ...

    def running(self) -> AbstractContextManager[object]:
        """Within it work may be handed over; after it all is done."""
        ...

    def synchronise(self) -> None:
        """Wait until all work is done."""
        ...


class HostDevice:
    """Memory of this process; a call is done when it returns."""

    on_host = True
    captures = False

    def allocate(self, nbytes: int) -> Array:
        """A zeroed block, 64-byte aligned."""
        return allocate(nbytes)

    def allocate_pinned(self, nbytes: int) -> Array:
        """The same: there is one memory."""
        return allocate(nbytes)

    def pin(self, block: Array) -> bool:
        """There is one memory."""
        del block
        return True

    def unpin(self, block: Array) -> None:
        """Nothing was done."""

    def to_host(self, array: Array) -> Array:
        """It is there."""
        return array

    def write(self, target: Array, source: Array) -> None:
        """A copy."""
        target[...] = source

    def bind_copy_in(self, host: Array, device: Array) -> Call:
        """A copy."""

        def copy() -> None:
            device[...] = host

        return copy

    def bind_copy_out(
        self, device: Array, host: Array, *, poison: bool = False
    ) -> Call:
        """A copy; `poison` shows reads of what has left."""

        def copy() -> None:
            host[...] = device
            if poison:
                device[...] = POISON

        return copy

    def start_copy_in(self, host: Array, device: Array) -> Call:
        """A copy, which is done when this returns."""
        device[...] = host
        return lambda: None

    def in_order(self, steps: Sequence[Step], calls: Sequence[Call]) -> list[Call]:
        """As they are: one runs after the other."""
        del steps
        return list(calls)

    def with_graphs(
        self, segments: Sequence[Segment], steps: Sequence[Step], calls: Sequence[Call]
    ) -> list[Call]:
        """Segment by segment, each call by itself."""
        del steps
        return [calls[i] for part in segments for i in (*part.captured, *part.after)]

    def running(self) -> AbstractContextManager[object]:
        """Nothing to prepare."""
        return nullcontext()

    def synchronise(self) -> None:
        """Nothing is under way."""
