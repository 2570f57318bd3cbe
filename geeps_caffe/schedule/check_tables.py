"""The part of the checker that follows leases, updates and clocks of tables."""

from collections import Counter
from collections.abc import Iterator

from geeps_caffe.schedule.faults import Fault
from geeps_caffe.schedule.instructions import Clock, Instruction, Table, UpdateRows
from geeps_caffe.schedule.plan import Plan
from geeps_caffe.schedule.program import Program


def table_faults(plan: Plan) -> Iterator[Fault]:
    """Where a plan breaks the rules of the GeePS client.

    Params are read and gradients written under a lease; every lease is given back;
    every table is updated once an iteration, and then comes the clock.
    """
    leases = _Leases(plan.program)
    for position, instruction in enumerate(plan.instructions):
        title = f"instruction {position} ({instruction.text})"
        for text in leases.run(instruction):
            yield Fault(position, f"{title} {text}")
    for text in leases.end():
        yield Fault(len(plan.instructions), f"after the step {text}")


class _Leases:
    def __init__(self, program: Program) -> None:
        self._program = program
        self._tables = set(program.tables.values())
        self._open: set[tuple[str, str]] = set()  # closing call and table
        self._updates: Counter[str] = Counter()
        self._clocks = 0
        self._of: dict[str, tuple[str, str]] = {}  # array -> lease that it needs
        self._changed: set[str] = set()  # params that have their update already
        for key, table in program.tables.items():
            if key in program.params:
                self._of[program.params[key]] = ("post_read", table)
                self._of[f"{key}.diff"] = ("update", table)

    def run(self, instruction: Instruction) -> Iterator[str]:
        """Follow one instruction; says what is wrong with it."""
        match instruction:
            case Table("read", table):
                yield from self._begin("post_read", table)
            case Table("pre_update", table):
                yield from self._begin("update", table)
            case Table(call, table):
                yield from self._finish(call, table)
            case UpdateRows():
                yield from self._update(instruction)
                yield from self._use(instruction)
            case Clock():
                self._clocks += 1
                yield from self._clock()
            case _:
                yield from self._use(instruction)

    def _begin(self, closing: str, table: str) -> Iterator[str]:
        if self._clocks:
            yield "comes after the clock"
        if (closing, table) in self._open:
            yield "opens what is open already"
        self._open.add((closing, table))

    def _finish(self, call: str, table: str) -> Iterator[str]:
        if (call, table) not in self._open:
            yield "closes what is not open"
        self._open.discard((call, table))
        self._updates[table] += call == "update"

    def _update(self, instruction: UpdateRows) -> Iterator[str]:
        """The weights change now: nobody may read them, and nobody will."""
        table = instruction.table
        if ("update", table) not in self._open:
            yield f"updates {instruction.key!r} without a pre_update of {table!r}"
        if ("post_read", table) in self._open:
            yield f"updates {instruction.key!r} while there is a lease on {table!r}"
        self._changed.add(self._program.params[instruction.key])

    def _clock(self) -> Iterator[str]:
        if self._clocks > 1:
            yield "is not the first of the iteration"
        if self._open:
            names = ", ".join(sorted(table for _, table in self._open))
            yield f"comes while there are leases on {names}"
        for table in sorted(self._tables):
            if self._updates[table] != 1:
                yield f"comes when table {table!r} has {self._updates[table]} updates"

    def _use(self, instruction: Instruction) -> Iterator[str]:
        touched = dict.fromkeys(instruction.reads + instruction.writes)
        for name in touched:
            lease = self._of.get(name)
            if name in self._changed:
                yield f"uses {name!r} after its update"
            if lease is not None and lease not in self._open:
                opening = "read" if lease[0] == "post_read" else "pre_update"
                yield f"uses {name!r} without a {opening} of table {lease[1]!r}"
        for name in instruction.writes:
            if self._is_param(name):
                yield f"writes {name!r}, which only the parameter server changes"

    def _is_param(self, name: str) -> bool:
        leased = name in self._program.leases and name in self._program.tables
        return leased or self._program.arrays[name].home == "table"

    def end(self) -> Iterator[str]:
        """What is wrong when all instructions have run."""
        for call, table in sorted(self._open):
            yield f"table {table!r} waits for its {call}"
        if self._updates and not self._clocks:
            yield "there are updates but no clock"
        learns = self._program.options.backward and self._tables
        if learns and not self._clocks:
            yield "no clock has come"
