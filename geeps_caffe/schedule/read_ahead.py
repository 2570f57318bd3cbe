"""Tables are read some layers before they are used, so that params can be prefetched.

With a param cache a layer's params are copied in once its table has been read. Were it
read just before the layer computes, the copy could overlap with nothing. So the first
read of each table stands where that of the table AHEAD before it stood. The order of
reads stays, and depends on the net alone: it is part of what all workers record.
"""

from geeps_caffe.schedule.instructions import Instruction, Table
from geeps_caffe.schedule.program import Program

AHEAD = 4  # tables


def read_ahead(program: Program, ahead: int = AHEAD) -> None:
    """Move the first reads of a program's tables forward."""
    first = _first_reads(program)
    if not first:
        return
    spots = set(first[: len(first) - ahead] or first[:1])
    waiting = [(program.instructions[i], program.owners[i]) for i in first]
    found: list[tuple[Instruction, int]] = []
    moved = set(first)
    for i, entry in enumerate(zip(program.instructions, program.owners, strict=True)):
        if i in spots:
            count = ahead + 1 if i == first[0] else 1
            found += waiting[:count]
            del waiting[:count]
        if i not in moved:
            found.append(entry)
    program.instructions[:] = [entry for entry, _ in found]
    program.owners[:] = [owner for _, owner in found]


def _first_reads(program: Program) -> list[int]:
    """The positions where each table is read first."""
    seen: set[str] = set()
    found = []
    for i, entry in enumerate(program.instructions):
        is_read = isinstance(entry, Table) and entry.call == "read"
        if is_read and entry.table not in seen:  # type: ignore[union-attr]
            seen.add(entry.table)  # type: ignore[union-attr]
            found.append(i)
    return found
