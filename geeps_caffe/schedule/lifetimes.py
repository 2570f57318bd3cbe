"""When each storage is touched, and from when to when it must keep its values."""

from dataclasses import dataclass

from geeps_caffe.schedule.instructions import Fill, Instruction
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


def lifetimes(program: Program) -> dict[str, Lifetime]:
    """The lifetime of every storage of the arena.

    What is filled when the plan is bound has no touches: it is always there.
    """
    sizes = program.storage_bytes()
    touches: dict[str, list[int]] = {name: [] for name in sizes}
    read: dict[str, set[int]] = {name: set() for name in sizes}
    written: dict[str, set[int]] = {name: set() for name in sizes}
    for position, instruction in enumerate(program.instructions):
        needed = storages(program, instruction.reads)
        changed = storages(program, instruction.writes)
        for name in needed | changed:
            touches[name].append(position)
        for name in needed:
            read[name].add(position)
        for name in changed:
            written[name].add(position)
    for name in _filled_once(program):
        touches[name].clear()
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


def _filled_once(program: Program) -> set[str]:
    fills = (i for i in program.instructions if isinstance(i, Fill))
    once = tuple(fill.array for fill in fills if fill.when == "once")
    return storages(program, once)


def _kept(program: Program) -> list[str]:
    return [value for value in program.options.keep if value in program.data]
