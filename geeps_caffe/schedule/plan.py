"""From a program to a plan: what leaves the arena when, and every offset."""

from collections import defaultdict
from dataclasses import dataclass, replace

from geeps_caffe.device.array import aligned
from geeps_caffe.errors import PlanError
from geeps_caffe.schedule.arena import Place, place
from geeps_caffe.schedule.instructions import Instruction, SwapIn, SwapOut
from geeps_caffe.schedule.lifetimes import Lifetime, lifetimes
from geeps_caffe.schedule.program import Program
from geeps_caffe.schedule.swaps import Residency, least_memory, plan_swaps

ATTEMPTS = 40  # budgets tried before fragmentation is called too much


@dataclass(frozen=True)
class Plan:
    """A program whose every storage has a place at every instruction.

    `places[i]` maps the storages that instruction i touches to offsets.
    """

    program: Program
    instructions: tuple[Instruction, ...]
    places: tuple[dict[str, int], ...]
    arena_bytes: int
    host_offsets: dict[str, int]  # storages that are away at times
    host_bytes: int
    total_bytes: int  # all arrays side by side: the memory without any sharing
    least_bytes: int  # no budget below can do
    final: dict[str, int]  # offsets of storages in the arena after the step
    #: For each instruction, its position in program.instructions; -1 for swaps.
    origin: tuple[int, ...]

    @property
    def moved_bytes(self) -> int:
        """Bytes that swaps move in one step, both ways."""
        sizes = self.program.storage_bytes()
        return sum(
            sizes[i.storage]
            for i in self.instructions
            if isinstance(i, SwapIn | SwapOut)
        )


def make_plan(
    program: Program, budget: int | None = None, share: bool | None = None
) -> Plan:
    """Place a program's storages in an arena.

    Args:
        budget: most bytes of the arena; None: as many as it takes.
        share: whether storages may take turns in one place by lifetime; by default
            only where a budget asks for it.

    Raises:
        PlanError: the budget is below what some instruction needs.
    """
    lives = lifetimes(program)
    length = max(len(program.instructions), 1)
    share = budget is not None if share is None else share
    if not share:
        lives = {n: _whole_step(life) for n, life in lives.items()}
    placed, size = _fit(lives, length, budget)
    return _assemble(program, placed, size, lives, length)


def _whole_step(life: Lifetime) -> Lifetime:
    return replace(life, from_before=True, to_after=True)


def _fit(
    lives: dict[str, Lifetime], length: int, budget: int | None
) -> tuple[list[Place], int]:
    """Places within the budget; where holes remain, swaps plan for a lower one."""
    rounded = {n: replace(v, nbytes=aligned(v.nbytes)) for n, v in lives.items()}
    target = budget
    for _ in range(ATTEMPTS):
        placed, size = place(plan_swaps(rounded, length, target))
        if budget is None or target is None or size <= budget:
            return placed, size
        least = least_memory(rounded, length)
        target = max(least, min(target, target - (size - budget) // 4 - 64))
        if target == least:
            placed, size = place(plan_swaps(rounded, length, least))
            if size <= budget:
                return placed, size
            break
    raise PlanError(
        f"a budget of {budget:,} bytes can't be kept: the best arena found has "
        f"{size:,} bytes; give at least that, or make the batch smaller"
    )


def _assemble(
    program: Program,
    placed: list[Place],
    size: int,
    lives: dict[str, Lifetime],
    length: int,
) -> Plan:
    starts: dict[int, list[Place]] = defaultdict(list)
    ends: dict[int, list[Place]] = defaultdict(list)
    for entry in placed:
        starts[entry.stay.start].append(entry)
        ends[entry.stay.end].append(entry)
    present: dict[str, int] = {}
    instructions: list[Instruction] = []
    places: list[dict[str, int]] = []
    origin: list[int] = []

    def emit(instruction: Instruction, where: dict[str, int], source: int) -> None:
        instructions.append(instruction)
        places.append(where)
        origin.append(source)

    for position, instruction in enumerate(program.instructions):
        for entry in starts[position]:
            present[entry.stay.storage] = entry.offset
            if entry.stay.fetch:
                name = entry.stay.storage
                emit(SwapIn(name), {name: entry.offset}, -1)
        emit(instruction, _touched(program, instruction, present), position)
        for entry in ends[position]:
            name = entry.stay.storage
            if entry.stay.save:
                emit(SwapOut(name), {name: entry.offset}, -1)
            if not _stays(entry.stay, lives[name], length):
                present.pop(name, None)
    if not program.instructions:
        present = {p.stay.storage: p.offset for p in placed}
    offsets, host_bytes = _host(placed, lives)
    sizes = program.storage_bytes()
    return Plan(
        program=program,
        instructions=tuple(instructions),
        places=tuple(places),
        arena_bytes=size,
        host_offsets=offsets,
        host_bytes=host_bytes,
        total_bytes=sum(aligned(n) for n in sizes.values()),
        least_bytes=least_memory(
            {n: replace(v, nbytes=aligned(v.nbytes)) for n, v in lives.items()}, length
        ),
        final=present,
        origin=tuple(origin),
    )


def _stays(stay: Residency, life: Lifetime, length: int) -> bool:
    """Whether a storage keeps its place after the step."""
    return life.to_after and stay.end == length - 1 and not stay.save


def _touched(
    program: Program, instruction: Instruction, present: dict[str, int]
) -> dict[str, int]:
    where = {}
    for name in instruction.reads + instruction.writes:
        array = program.arrays[name]
        if array.home == "arena":
            where[array.storage] = present[array.storage]
    return where


def _host(
    placed: list[Place], lives: dict[str, Lifetime]
) -> tuple[dict[str, int], int]:
    away = sorted({p.stay.storage for p in placed if p.stay.save or p.stay.fetch})
    offsets, total = {}, 0
    for name in away:
        offsets[name] = total
        total += aligned(lives[name].nbytes)
    return offsets, total
