"""A recording: what one iteration asks of GeePS, in order, as a value.

It is what a program would announce in a virtual iteration: tables read and updated,
local arrays opened and closed, the clock. A local array is a storage of the arena.
One that the next instruction uses too stays open. *fetch* says that the opened array
must hold what was kept before; *keep* that what was written into it while it was open
is wanted later. So activations are kept by forward and fetched by backward, gradients
of blobs are neither fetched by who writes them nor kept by who reads them last, and
scratch is neither fetched nor kept.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from geeps_caffe.schedule.instructions import Clock, Fill, Instruction, Table
from geeps_caffe.schedule.lifetimes import Lifetime, lifetimes, storages
from geeps_caffe.schedule.program import Program


@dataclass(frozen=True)
class Access:
    """One call: what is opened, closed or ended."""

    call: str  # "read", "post_read", "pre_update", "update", "local_access", ...
    name: str = ""  # the table, or the local array
    nbytes: int = 0  # of a local array
    fetch: bool = False  # of an opening call
    keep: bool = False  # of a closing call

    @property
    def text(self) -> str:
        """The call as a line."""
        line = f"{self.call} {self.name}".rstrip()
        if self.call == "local_access":
            line += f" ({self.nbytes:,} bytes)"
        return line + " fetch" * self.fetch + " keep" * self.keep


def record(program: Program) -> tuple[Access, ...]:
    """The accesses of one iteration of a program."""
    return tuple(_Recorder(program).accesses())


def show_recording(accesses: Iterable[Access]) -> str:
    """A recording as text, a call a line."""
    return "\n".join(access.text for access in accesses) + "\n"


class _Recorder:
    def __init__(self, program: Program) -> None:
        self._program = program
        self._lives = lifetimes(program)
        self._reads = [storages(program, i.reads) for i in program.instructions]
        self._open: dict[str, bool] = {}  # local array -> written since it was opened

    def accesses(self) -> Iterator[Access]:
        """All of them, in order."""
        used = [_locals(self._program, i) for i in self._program.instructions]
        for position, instruction in enumerate(self._program.instructions):
            if isinstance(instruction, Table):
                yield Access(instruction.call, instruction.table)
            elif isinstance(instruction, Clock):
                yield Access("clock")
            else:
                yield from self._begin(position, used[position])
                yield from self._end(position, self._next(used, position))

    def _next(self, used: list[list[str]], position: int) -> list[str]:
        """What the next instruction uses that is no call itself."""
        for later in range(position + 1, len(used)):
            if not isinstance(self._program.instructions[later], Table | Clock):
                return used[later]
        return []

    def _begin(self, position: int, used: list[str]) -> Iterator[Access]:
        for name in used:
            life = self._lives[name]
            if name not in self._open:
                fetch = name in self._reads[position]
                yield Access("local_access", name, life.nbytes, fetch=fetch)
                self._open[name] = False
            self._open[name] |= position in life.written

    def _end(self, position: int, following: list[str]) -> Iterator[Access]:
        for name in [n for n in self._open if n not in following]:
            changed = self._open.pop(name)
            keep = changed and self._wanted(self._lives[name], position)
            yield Access("post_local_access", name, keep=keep)

    def _wanted(self, life: Lifetime, position: int) -> bool:
        """Whether what a storage holds after an instruction is read some time."""
        later = [touch for touch in life.touches if touch > position]
        if later:
            return life.storage in self._reads[later[0]]
        return life.to_after or life.to_host


def _locals(program: Program, instruction: Instruction) -> list[str]:
    """The local arrays that an instruction uses, in its own order."""
    if isinstance(instruction, Fill) and instruction.when == "once":
        return []
    arrays = (program.arrays[n] for n in instruction.reads + instruction.writes)
    return list(dict.fromkeys(a.storage for a in arrays if a.home == "arena"))
