"""From a program to a plan: what leaves the arena when, and every offset."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from geeps_caffe.device.array import aligned
from geeps_caffe.errors import BudgetError
from geeps_caffe.schedule.arena import Place
from geeps_caffe.schedule.fit import fit, least_budget, rounded
from geeps_caffe.schedule.instructions import Instruction, SwapIn, SwapOut, Table
from geeps_caffe.schedule.lifetimes import Lifetime, lifetimes
from geeps_caffe.schedule.program import Program
from geeps_caffe.schedule.swaps import least_memory, touched_bytes


@dataclass(frozen=True)
class Plan:
    """A program whose every storage has a place at every instruction.

    `places[i]` maps the storages that instruction i touches to offsets.
    """

    program: Program
    instructions: tuple[Instruction, ...]
    places: tuple[dict[str, int], ...]
    budget: int | None  # most bytes of the arena
    arena_bytes: int
    host_offsets: dict[str, int]  # storages that are away at times
    host_bytes: int
    total_bytes: int  # all arrays side by side: the memory without any sharing
    least_bytes: int  # this budget does, and with nothing pinned none below
    #: Storages that hold their values from step to step.
    lasting: frozenset[str]
    final: dict[str, int]  # offsets of storages in the arena after the step
    #: For each instruction, its position in program.instructions; -1 for swaps.
    origin: tuple[int, ...]

    def owners(self) -> list[tuple[int, bool]]:
        """For each instruction the node that it serves, and whether in backward.

        A swap counts for the instruction before it.
        """
        program, found = self.program, []
        last = next((origin for origin in self.origin if origin >= 0), 0)
        for origin in self.origin:
            last = origin if origin >= 0 else last
            found.append((program.owners[last], last >= program.backward_start))
        return found

    @property
    def moved_bytes(self) -> int:
        """Bytes that swaps move in one step, both ways."""
        sizes = self.program.storage_bytes()
        return sum(
            sizes[i.storage]
            for i in self.instructions
            if isinstance(i, SwapIn | SwapOut)
        )


@dataclass(frozen=True)
class Packing:
    """Where every stay lies, and the bytes of the arena for it."""

    places: Sequence[Place]
    size: int


#: Places storages within a budget, which is not below what any instruction touches.
Planner: TypeAlias = Callable[[Program, Mapping[str, Lifetime], int | None], Packing]


def greedy(
    program: Program, lives: Mapping[str, Lifetime], budget: int | None
) -> Packing:
    """The planner that knows no costs: as few bytes as possible move (see `swaps`)."""
    return Packing(*fit(lives, max(len(program.instructions), 1), budget))


def make_plan(
    program: Program,
    budget: int | None = None,
    share: bool | None = None,
    planner: Planner = greedy,
) -> Plan:
    """Place a program's storages in an arena.

    Args:
        budget: most bytes of the arena; None: as many as it takes.
        share: whether storages may take turns in one place by lifetime; by default
            unless every blob is to stay readable.
        planner: decides what leaves the arena when; `search.cost_aware` knows costs.

    Raises:
        BudgetError: the budget is below what some instruction needs, or what is pinned
            leaves holes in it.
    """
    lives, length = _lives(program, share), max(len(program.instructions), 1)
    least = least_budget(rounded(lives), length)
    if budget is not None and budget < least_memory(rounded(lives), length):
        raise _too_small(program, rounded(lives), budget, least)
    return assemble(program, lives, planner(program, lives, budget), budget, least)


def least_of(program: Program, share: bool | None = None) -> int:
    """The least budget in bytes: what the largest instruction touches.

    More, where pinned tables leave holes; a budget below may do by chance then.
    """
    length = max(len(program.instructions), 1)
    return least_budget(rounded(_lives(program, share)), length)


def _lives(program: Program, share: bool | None) -> dict[str, Lifetime]:
    lives = lifetimes(program)
    if share is None:
        share = not program.options.keep_all
    return lives if share else {n: _whole_step(life) for n, life in lives.items()}


def assemble(
    program: Program,
    lives: Mapping[str, Lifetime],
    packing: Packing,
    budget: int | None,
    least: int,
) -> Plan:
    """The plan of a program whose stays have places; `least` as of `least_budget`."""
    length, placed = max(len(program.instructions), 1), packing.places
    instructions, places, origin = _schedule(program, placed, length)
    offsets, host_bytes = _host(program, lives, placed)
    return Plan(
        program=program,
        instructions=tuple(instructions),
        places=tuple(places),
        budget=budget,
        arena_bytes=packing.size,
        host_offsets=offsets,
        host_bytes=host_bytes,
        total_bytes=sum(aligned(n) for n in program.storage_bytes().values()),
        least_bytes=least,
        lasting=frozenset(n for n, life in lives.items() if life.from_before),
        final={p.stay.storage: p.offset for p in placed if p.stay.lasts},
        origin=tuple(origin),
    )


def _whole_step(life: Lifetime) -> Lifetime:
    if life.from_host or life.to_host:
        return life  # a lease is of no use between two steps
    return replace(life, from_before=True, to_after=True)


def _schedule(
    program: Program, placed: Sequence[Place], length: int
) -> tuple[list[Instruction], list[dict[str, int]], list[int]]:
    """The instructions with swaps around them, their places, and their origins."""
    starts: dict[int, list[Place]] = defaultdict(list)
    ends: dict[int, list[Place]] = defaultdict(list)
    present: dict[str, int] = {}
    for entry in placed:
        starts[entry.stay.start].append(entry)
        ends[entry.stay.last_touch % length].append(entry)
        if entry.stay.end >= length:
            present[entry.stay.storage] = entry.offset
    found: list[tuple[Instruction, dict[str, int], int]] = []
    for position, instruction in enumerate(program.instructions):
        for entry in sorted(starts[position], key=lambda e: e.stay.first_touch):
            name = entry.stay.storage
            present[name] = entry.offset
            if entry.stay.fetch:
                found.append((SwapIn(name), {name: entry.offset}, -1))
        where = _touched(program, instruction, present)
        found.append((instruction, where, position))
        for entry in sorted(ends[position], key=lambda e: e.stay.storage):
            name = entry.stay.storage
            if entry.stay.save:
                found.append((SwapOut(name), {name: entry.offset}, -1))
    return [f[0] for f in found], [f[1] for f in found], [f[2] for f in found]


def _touched(
    program: Program, instruction: Instruction, present: Mapping[str, int]
) -> dict[str, int]:
    where = {}
    if isinstance(instruction, Table):
        return {}  # leases lie in the client's memory
    for name in instruction.reads + instruction.writes:
        array = program.arrays[name]
        if array.home == "arena":
            where[array.storage] = present[array.storage]
    return where


def _host(
    program: Program, lives: Mapping[str, Lifetime], placed: Sequence[Place]
) -> tuple[dict[str, int], int]:
    """Offsets in host memory of all storages that are away at times, and its size.

    Leases have a home there already.
    """
    here = {p.stay.storage for p in placed}
    away = {p.stay.storage for p in placed if p.stay.save or p.stay.fetch}
    away |= {n for n, life in lives.items() if life.from_before and n not in here}
    sizes = {n: lives[n].nbytes for n in away if n not in program.leases}
    offsets, total = {}, 0
    for name in sorted(sizes):
        offsets[name] = total
        total += aligned(sizes[name])
    return offsets, total


def _too_small(
    program: Program, lives: Mapping[str, Lifetime], budget: int, least: int
) -> BudgetError:
    length = len(program.instructions)
    total = touched_bytes(lives, max(length, 1))
    lines = []
    for position in (-total[:length]).argsort(kind="stable")[:3]:
        touched = (life for life in lives.values() if position in life.touches)
        parts = sorted(touched, key=lambda life: -life.nbytes)
        names = ", ".join(f"{p.storage} {p.nbytes:,}" for p in parts[:4])
        text = program.instructions[position].text
        lines.append(f"{text!r} needs {total[position]:,} ({names})")
    return BudgetError(budget, "; ".join(lines), least)
