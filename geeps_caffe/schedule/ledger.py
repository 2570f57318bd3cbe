"""The checker's account: what each storage should hold, and what lies where."""

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from geeps_caffe.schedule.plan import Plan


@dataclass(frozen=True)
class Held:
    """Values in memory: of which array, and written by which instruction.

    -1: they are from before the step; of no array: nobody knows what they are.
    """

    array: str | None
    written: int = -1


class Ledger:
    """Follows a plan's reads, writes and swaps; each answers what is wrong with it.

    A storage holds the values of one array at a time, that of the last write. Views
    have the values of the array that they show.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan, self._program = plan, plan.program
        self._right: dict[str, Held] = {}  # by storage, were there no swaps
        self._arena: dict[str, Held] = {}  # by storage, for those resident
        self._host: dict[str, Held] = {}
        self._map = _Map(self._program.storage_bytes())
        self._left: dict[str, str] = {}  # why a storage is not resident
        self._begin()

    def _begin(self) -> None:
        """What is there from the step before: what lasts, and all but gradients."""
        for array in self._program.arrays.values():
            if array.home in ("table", "state"):
                self._right[array.storage] = Held(array.name)
        for storage, name in self._program.leases.items():
            if not name.endswith(".diff") or self._program.options.accumulate:
                self._right[storage] = Held(name)
                if name not in self._program.tables:
                    self._host[storage] = Held(name)
        for storage in self._plan.lasting:
            known = storage in self._program.persistent
            held = Held(storage if known else None)
            self._right[storage] = held
            if storage in self._plan.final:
                self._arena[storage] = held
                self._map.enter(storage, self._plan.final[storage])
            else:
                self._host[storage] = held

    # -- instructions ----------------------------------------------------------

    def read(self, name: str, places: Mapping[str, int]) -> Iterator[str]:
        """An instruction reads an array."""
        array = self._program.arrays[name]
        root, storage = self._program.root(name), array.storage
        right = self._right.get(storage)
        if right is None or right.array is None:
            yield f"reads {name!r}, which nothing has written"
        elif right.array != root:
            yield (
                f"reads {name!r}, which instruction {right.written} has overwritten "
                f"with {right.array!r}"
            )
        elif array.home == "arena":
            yield from self._find(name, storage, places, right)

    def _find(
        self, name: str, storage: str, places: Mapping[str, int], right: Held
    ) -> Iterator[str]:
        found = self._map.offset(storage)
        if found is None:
            yield f"reads {name!r}, but {self._why_not(storage)}"
        elif places.get(storage) != found:
            yield (
                f"reads {name!r} at {_at(places.get(storage))}, but it lies at "
                f"{_at(found)}"
            )
        elif self._arena[storage] != right:
            yield (
                f"reads {name!r} as it was before instruction {right.written} wrote it"
            )

    def write(
        self, name: str, places: Mapping[str, int], position: int
    ) -> Iterator[str]:
        """An instruction writes all of an array."""
        array, root = self._program.arrays[name], self._program.root(name)
        held = Held(root, position)
        self._right[array.storage] = held
        if array.home != "arena":
            return
        if array.storage not in places:
            yield f"writes {name!r}, which has no place in the arena"
            return
        self._enter(array.storage, places[array.storage], held, position)

    def forget(self, name: str) -> None:
        """An array's memory is new, and what it holds is not known."""
        self._right.pop(self._program.arrays[name].storage, None)

    def lend(self, table: str) -> None:
        """A table is read: its params are in the client's memory."""
        for storage, name in self._program.leases.items():
            if self._program.tables.get(name) == table:
                self._host[storage] = self._right[storage]

    def hand_in(self, name: str) -> Iterator[str]:
        """A gradient goes to the parameter server, from the client's memory."""
        storage = self._program.arrays[name].storage
        right = self._right.get(storage)
        if right is None or self._host.get(storage) != right:
            yield f"hands in {name!r}, which is not in host memory as written last"

    def swap_in(self, storage: str, offset: int | None, position: int) -> Iterator[str]:
        """A storage comes from host memory."""
        if offset is None or not self._has_home(storage):
            yield "has no place to copy to, or none to copy from"
        elif storage not in self._host:
            yield "copies what was never swapped out"
        else:
            self._enter(storage, offset, self._host[storage], position)

    def swap_out(self, storage: str, offset: int | None) -> Iterator[str]:
        """A storage goes to host memory."""
        if not self._has_home(storage):
            yield "has no place in host memory to copy to"
        elif self._map.offset(storage) is None:
            yield f"finds nothing to copy: {self._why_not(storage)}"
        elif self._map.offset(storage) != offset:
            yield f"copies from another place than {_at(self._map.offset(storage))}"
        else:
            self._host[storage] = self._arena.pop(storage)
            self._map.leave(storage)
            self._left[storage] = "it was swapped out"

    def _has_home(self, storage: str) -> bool:
        leased = storage in self._program.leases
        return leased or storage in self._plan.host_offsets

    # -- after the step --------------------------------------------------------

    def after(self, arrays: Iterable[str]) -> Iterator[str]:
        """Of arrays to be readable and storages that last, those that are not there."""
        for name in arrays:
            storage = self._program.arrays[name].storage
            right = self._right.get(storage)
            if right is None or right.array != self._program.root(name):
                yield f"{name!r} is not readable: it was not written, or overwritten"
            else:
                yield from self._is_there(storage, right)
        for storage in sorted(self._plan.lasting):
            yield from self._is_there(storage, self._right[storage])

    def _is_there(self, storage: str, right: Held) -> Iterator[str]:
        if storage in self._plan.final:
            place = self._plan.final[storage]
            there = self._map.offset(storage) == place
            found = self._arena[storage] if there else None
            where = f"at {_at(place)} of the arena"
        else:
            found, where = self._host.get(storage), "in host memory"
        if found != right:
            yield f"{storage!r} is not {where} as it was written last"

    # -- places ----------------------------------------------------------------

    def _enter(self, storage: str, offset: int, held: Held, position: int) -> None:
        for gone in self._map.enter(storage, offset):
            del self._arena[gone]
            self._left[gone] = (
                f"instruction {position} has put {storage!r} in its place"
            )
        self._arena[storage] = held

    def _why_not(self, storage: str) -> str:
        return self._left.get(storage, "it has not been in the arena yet")


class _Map:
    """Which storages lie where; entering one ends what lay there before."""

    def __init__(self, sizes: Mapping[str, int]) -> None:
        self._sizes = sizes
        self._offsets: dict[str, int] = {}
        self._sorted: list[tuple[int, str]] = []

    def offset(self, storage: str) -> int | None:
        """Where a storage lies; None if it is not there."""
        return self._offsets.get(storage)

    def enter(self, storage: str, offset: int) -> list[str]:
        """Put a storage somewhere; returns those whose memory it took."""
        if self._offsets.get(storage) == offset:
            return []
        if storage in self._offsets:
            self.leave(storage)
        end, gone = offset + self._sizes[storage], []
        index = bisect_left(self._sorted, (offset, ""))
        if index and self._top(index - 1) > offset:
            index -= 1
        while index < len(self._sorted) and self._sorted[index][0] < end:
            gone.append(self._sorted[index][1])
            self.leave(gone[-1])
        insort(self._sorted, (offset, storage))
        self._offsets[storage] = offset
        return gone

    def leave(self, storage: str) -> None:
        """Its place is free."""
        entry = (self._offsets.pop(storage), storage)
        del self._sorted[bisect_left(self._sorted, entry)]

    def _top(self, index: int) -> int:
        offset, storage = self._sorted[index]
        return offset + self._sizes[storage]


def _at(offset: int | None) -> str:
    return "no place" if offset is None else f"byte {offset:,}"
