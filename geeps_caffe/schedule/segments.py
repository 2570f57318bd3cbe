"""Which runs of a plan's instructions can be launched as one CUDA graph.

What a graph holds does the same with the same arguments every time. So it is with what
engines bind: `Engine.bind` is given arrays and constants alone. It is not with layers'
own code (random numbers of an iteration, losses, what is in a file) or with calls of
the parameter server (the learning rate): these are never captured.

Tables that lie on the device are read where they are; of the calls for them only the
last one, with which an update leaves, does anything, and nothing uses the table's
arrays after it (`check_tables`). So calls may wait until the graph before them is
launched, and a forward and a backward pass are one graph as far as no layer's own code
comes between.
"""

from collections.abc import Iterator

from geeps_caffe.device.events import Segment
from geeps_caffe.schedule.instructions import (
    Accumulate,
    Compute,
    Fill,
    Instruction,
    Reorder,
    SwapIn,
    SwapOut,
    Table,
)
from geeps_caffe.schedule.plan import Plan

LEAST = 2  # instructions of a graph; one alone is launched as it is


def find_segments(plan: Plan) -> list[Segment]:
    """All instructions, each once; those that are not captured keep their order.

    Copies between the arena and the host are captured where that holds nothing up: a
    graph ends with the last of its branches. So none is where the host waits for
    single ones (tables that lie there), or where a layer's own code leaves too little
    to compute beside one.
    """
    runs = list(_runs(plan, copies=not plan.program.leases))
    if any(run.copies and run.computing < LEAST for run in runs):
        runs = list(_runs(plan, copies=False))
    return [part for run in runs for part in run.parts()]


def is_fixed(entry: Instruction) -> bool:
    """Whether an instruction does the same every time, and no copy."""
    match entry:
        case Compute():
            return entry.request is not None and entry.description is not None
        case Reorder() | Accumulate() | Fill():
            return True
    return False


class _Run:
    """Instructions that may be reordered: those of a graph before all others."""

    def __init__(self) -> None:
        self.captured: list[int] = []
        self.after: list[int] = []
        self.copies = 0  # among those that are captured

    @property
    def computing(self) -> int:
        """How many instructions are captured that are no copies."""
        return len(self.captured) - self.copies

    def parts(self) -> list[Segment]:
        """One segment; or each for itself where there is too little for a graph."""
        if self.computing >= LEAST:
            return [Segment(tuple(self.captured), tuple(self.after))]
        return [Segment((), (i,)) for i in sorted(self.captured + self.after)]


def _runs(plan: Plan, *, copies: bool) -> Iterator[_Run]:
    run = _Run()
    for position, entry in enumerate(plan.instructions):
        if isinstance(entry, Table) and not plan.program.leases:
            run.after.append(position)
            continue
        copy = isinstance(entry, SwapIn | SwapOut)
        captured = copies if copy else is_fixed(entry)
        if captured:
            run.captured.append(position)
            run.copies += copy
            continue
        yield run
        alone = _Run()
        alone.after.append(position)
        yield alone
        run = _Run()
    yield run
