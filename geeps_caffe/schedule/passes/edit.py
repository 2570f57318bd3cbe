"""Replacing and leaving out instructions of a program."""

from collections.abc import Collection, Mapping
from dataclasses import replace

from geeps_caffe.schedule.instructions import Instruction
from geeps_caffe.schedule.program import Program


def edited(
    program: Program,
    new: Mapping[int, Instruction],
    gone: Collection[int],
    behind: Mapping[int, Instruction] | None = None,
) -> Program:
    """A copy with other instructions at some positions, and without those `gone`.

    Those in `behind` are added, each behind the one at its position.

    Arrays that no instruction touches any more are left out too, unless they hold
    values from step to step or are params.
    """
    behind = behind or {}
    rows: list[tuple[int, Instruction]] = []  # each with the position it came from
    for i, entry in enumerate(program.instructions):
        if i not in gone:
            rows.append((i, new.get(i, entry)))
        if i in behind:
            rows.append((i, behind[i]))
    found = replace(
        program,
        instructions=[entry for _, entry in rows],
        owners=[program.owners[i] for i, _ in rows],
        backward_start=sum(i < program.backward_start for i, _ in rows),
    )
    return _without_dead_arrays(found)


def _without_dead_arrays(program: Program) -> Program:
    used = {a for i in program.instructions for a in (*i.reads, *i.writes)}
    used |= {name for name, a in program.arrays.items() if a.home != "arena"}
    used |= {n for n, a in program.arrays.items() if a.storage in program.persistent}
    for name in list(used):  # what a view shows
        while (source := program.arrays[name].view_of) is not None:
            used.add(source)
            name = source
    kept = used | {n for n in program.arrays if program.root(n) in used}
    arrays = {n: a for n, a in program.arrays.items() if n in kept}
    return replace(
        program,
        arrays=arrays,
        data={value: name for value, name in program.data.items() if name in arrays},
        diff={value: name for value, name in program.diff.items() if name in arrays},
    )
