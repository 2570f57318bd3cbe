"""When each storage is touched, and from when to when it must keep its values."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypedDict

from geeps_caffe.schedule.instructions import Fill, Instruction, Table
from geeps_caffe.schedule.program import Program


@dataclass(frozen=True)
class Lifetime:
    """The touches of one storage, as positions in the list of instructions."""

    storage: str
    nbytes: int
    touches: tuple[int, ...]
    read: frozenset[int]  # those touches that need its values
    written: frozenset[int]  # those touches that change it
    from_before: bool  # holds a value when the step begins
    to_after: bool  # its value is asked for after the step
    #: Leases of the client: values come from host memory before the first touch (not
    #: before instruction `ready`), or go there after the last.
    from_host: bool = False
    to_host: bool = False
    ready: int = 0
    pinned: bool = False  # stays from its first touch to its last
    fixed: bool = False  # filled when the plan is bound: never away


def lifetimes(program: Program) -> dict[str, Lifetime]:
    """The lifetime of every storage of the arena.

    What is filled when the plan is bound has no touches: it is always there. Another
    storage without touches (an input that nobody reads) may always be away.
    """
    sizes = program.storage_bytes()
    touches: dict[str, list[int]] = {name: [] for name in sizes}
    read: dict[str, set[int]] = {name: set() for name in sizes}
    written: dict[str, set[int]] = {name: set() for name in sizes}
    for position, instruction in enumerate(program.instructions):
        if isinstance(instruction, Table):
            continue  # what it opens or hands in lies in the client's memory
        needed = storages(program, instruction.reads)
        changed = storages(program, instruction.writes)
        for name in needed | changed:
            touches[name].append(position)
        for name in needed:
            read[name].add(position)
        for name in changed:
            written[name].add(position)
    fixed = _filled_once(program)
    for name in fixed:
        touches[name].clear()
    ready = _readings(program)
    kept = storages(program, tuple(program.data[v] for v in _kept(program)))
    return {
        name: Lifetime(
            name,
            nbytes,
            tuple(touches[name]),
            frozenset(read[name]),
            frozenset(written[name]),
            name in program.persistent,
            name in program.persistent or name in kept,
            fixed=name in fixed,
            **_lease(program, name, ready),
        )
        for name, nbytes in sizes.items()
    }


def storages(program: Program, arrays: tuple[str, ...]) -> set[str]:
    """The arena's storages behind these arrays."""
    found = (program.arrays[name] for name in arrays)
    return {array.storage for array in found if array.home == "arena"}


def touched(program: Program, instruction: Instruction) -> set[str]:
    """The arena's storages that one instruction reads or writes."""
    return storages(program, instruction.reads + instruction.writes)


class _Lease(TypedDict, total=False):
    from_host: bool
    to_host: bool
    ready: int
    pinned: bool


def _lease(program: Program, storage: str, ready: Mapping[str, int]) -> _Lease:
    """What a lease adds to the lifetime of its storage."""
    name = program.leases.get(storage)
    if name is None:
        return {}
    if name.endswith(".diff"):
        return {"from_host": program.options.accumulate, "to_host": True}
    table, cache = program.tables.get(name, ""), program.options.param_cache
    pinned = cache is not None and cache.pins(table)
    return {"from_host": True, "ready": ready.get(table, 0), "pinned": pinned}


def _readings(program: Program) -> dict[str, int]:
    """Where each table is read first: from there on its leases hold values."""
    found: dict[str, int] = {}
    for position, entry in enumerate(program.instructions):
        if isinstance(entry, Table) and entry.call == "read":
            found.setdefault(entry.table, position + 1)
    return found


def _filled_once(program: Program) -> set[str]:
    fills = (i for i in program.instructions if isinstance(i, Fill))
    once = tuple(fill.array for fill in fills if fill.when == "once")
    return storages(program, once)


def _kept(program: Program) -> list[str]:
    return [value for value in program.options.keep if value in program.data]
