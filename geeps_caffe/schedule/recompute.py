"""Recomputation: what backward reads is computed again instead of kept or swapped.

Forward passes without params or statistics (activations, pooling, LRN, dropout, sums,
concatenations) may run a second time, just before backward first reads what they wrote.
They give the same bits: random numbers depend on where they are used alone. Their first
results then end with forward, and the second ones begin where they are needed.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace

from geeps_caffe.errors import PlanError
from geeps_caffe.schedule.costs import CostModel, Costs
from geeps_caffe.schedule.instructions import (
    Accumulate,
    Compute,
    Instruction,
    ParamParts,
    Reorder,
    UpdateRows,
)
from geeps_caffe.schedule.plan import Plan, Planner, make_plan
from geeps_caffe.schedule.program import Program
from geeps_caffe.schedule.simulate import simulate

#: A pass is worth it if it takes at most this share of the time that its results take
#: to be swapped out and in.
SHARES = (0.05, 0.5, 2.0)
_FREE = 0.998  # of the speed of computing alone: nothing can be gained
AGAIN = "~"  # at the end of the names of what is computed again


def recomputed(program: Program, passes: Collection[int]) -> Program:
    """The program in which some forward passes run again for backward.

    Args:
        passes: positions of instructions, out of `candidates`.
    """
    return _Rewriting(program, frozenset(passes)).run() if passes else program


def best_recomputed(
    program: Program,
    nodes: Collection[int],
    budget: int,
    planner: Planner,
    model: CostModel,
) -> Plan:
    """The plan with as much recomputed as makes its step fastest.

    What is computed again may need more than the budget, where the program as it is
    does not: results of both times take part in one instruction, say.

    Args:
        nodes: those whose forward may run twice.
        budget: bytes of the arena.
    """
    costs = model(program)
    tried: set[tuple[int, ...]] = {()}
    best = make_plan(program, budget, planner=planner)
    found = simulate(best, costs)
    if found.speed > _FREE:
        return best
    seconds = found.seconds
    for share in SHARES:
        passes = tuple(_worth(program, nodes, costs, share))
        if passes in tried:
            continue
        tried.add(passes)
        try:
            plan = make_plan(recomputed(program, passes), budget, planner=planner)
        except PlanError:
            continue
        found = simulate(plan, model(plan.program))
        if found.seconds < seconds:
            best, seconds = plan, found.seconds
    return best


def candidates(program: Program, nodes: Collection[int]) -> list[int]:
    """Positions of forward passes that could run again, for backward or for another."""
    writers, found = _Writers(program), []
    for i in reversed(range(program.backward_start)):
        entry = program.instructions[i]
        if _can_repeat(entry, nodes) and writers.whole(i) and writers.is_read_back(i):
            writers.read_back(entry)
            found.append(i)
    return found[::-1]


def _worth(
    program: Program, nodes: Collection[int], costs: Costs, share: float
) -> list[int]:
    """Candidates whose time is small beside that of swapping what they write."""
    sizes, found = program.storage_bytes(), []
    for i in candidates(program, nodes):
        names = program.instructions[i].writes
        storages = {program.arrays[n].storage for n in names}
        nbytes = sum(sizes[s] for s in storages)
        swap = costs.in_seconds(nbytes) + costs.out_seconds(nbytes)
        if costs.seconds[i] <= share * swap:
            found.append(i)
    return found


def _can_repeat(entry: Instruction, nodes: Collection[int]) -> bool:
    if isinstance(entry, Reorder):
        return True
    if not isinstance(entry, Compute) or entry.node not in nodes or entry.updates:
        return False
    return not any(port.startswith("param") for port, _ in entry.ports)


class _Writers:
    """Which instruction writes what, and what is overwritten."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._by_storage: dict[str, list[int]] = {}
        for i, entry in enumerate(program.instructions):
            for name in entry.writes:
                storage = program.arrays[name].storage
                self._by_storage.setdefault(storage, []).append(i)
        self._read_back: set[str] = set()
        for entry in program.instructions[program.backward_start :]:
            self.read_back(entry)
        self._kept = {
            program.arrays[program.data[v]].storage
            for v in program.options.keep
            if v in program.data
        }

    def whole(self, position: int) -> bool:
        """Whether a pass alone writes its storages, and nothing writes its inputs."""
        entry, program = self._program.instructions[position], self._program
        storages = [program.arrays[n].storage for n in entry.writes]
        alone = all(self._by_storage[s] == [position] for s in storages)
        asked = self._kept.union(program.persistent).intersection(storages)
        return alone and not asked and self._inputs_last(position)

    def _inputs_last(self, position: int) -> bool:
        entry, program = self._program.instructions[position], self._program
        for name in entry.reads:
            written = self._by_storage.get(program.arrays[name].storage, [])
            if any(i >= position for i in written):
                return False
        return True

    def read_back(self, entry: Instruction) -> None:
        """Note what an instruction reads in backward."""
        self._read_back.update(self._program.root(name) for name in entry.reads)

    def is_read_back(self, position: int) -> bool:
        """Whether anything that a pass writes is read in backward."""
        return any(
            self._program.root(name) in self._read_back
            for name in self._program.instructions[position].writes
        )


@dataclass
class _Rewriting:
    """Emits a program anew, with some passes repeated."""

    program: Program
    passes: frozenset[int]
    _new: Program = field(init=False)
    _writer: dict[str, int] = field(init=False)  # root array -> its pass, if repeated
    _done: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._writer = {
            self.program.root(name): i
            for i in self.passes
            for name in self.program.instructions[i].writes
        }
        self._new = replace(
            self.program, arrays=dict(self.program.arrays), instructions=[], owners=[]
        )

    def run(self) -> Program:
        """The new program."""
        program, new = self.program, self._new
        for i, entry in enumerate(program.instructions):
            new.node = program.owners[i]
            if i < program.backward_start:
                new.emit(entry)
                continue
            if i == program.backward_start:
                new.backward_start = len(new.instructions)
            names = dict(self._renamed(entry.reads))
            new.node = program.owners[i]
            new.emit(_with_names(entry, names))
        return new

    def _renamed(self, names: tuple[str, ...]) -> Iterator[tuple[str, str]]:
        """Names whose arrays are those that were computed again; now, if need be."""
        for name in names:
            position = self._writer.get(self.program.root(name))
            if position is not None:
                self._repeat(position)
                yield name, self._twin(name)

    def _repeat(self, position: int) -> None:
        if position in self._done:
            return
        self._done.add(position)
        entry = self.program.instructions[position]
        names = dict(self._renamed(entry.reads))
        names |= {name: self._twin(name) for name in entry.writes}
        self._new.node = self.program.owners[position]
        self._new.emit(_with_names(entry, names))

    def _twin(self, name: str) -> str:
        """The array for the second result; views of it are views of the twin."""
        twin = name + AGAIN
        if twin not in self._new.arrays:
            array = self.program.arrays[name]
            shown = self._twin(array.view_of) if array.view_of else None
            self._new.arrays[twin] = replace(
                array, name=twin, storage=array.storage + AGAIN, view_of=shown
            )
        return twin


def _with_names(entry: Instruction, names: Mapping[str, str]) -> Instruction:
    """The instruction on other arrays."""
    if not names:
        return entry
    match entry:
        case Compute():
            ports = tuple((port, names.get(name, name)) for port, name in entry.ports)
            scratch = names.get(entry.scratch or "", entry.scratch)
            return replace(entry, ports=ports, scratch=scratch)
        case ParamParts() | UpdateRows():
            ports = tuple((port, names.get(name, name)) for port, name in entry.ports)
            return replace(entry, ports=ports)
        case Reorder(source, target):
            return Reorder(names.get(source, source), names.get(target, target))
    return _with_others(entry, names)


def _with_others(entry: Instruction, names: Mapping[str, str]) -> Instruction:
    """Of what else backward has, sums alone read arrays of the arena."""
    assert isinstance(entry, Accumulate), f"{entry.text} reads {list(names)}"
    return Accumulate(names.get(entry.source, entry.source), entry.target)
