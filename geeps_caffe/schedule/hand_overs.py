"""A plan as steps on queues: the bytes that each instruction reads and writes.

The order of the plan is that in which instructions are handed to their queues. Which
hand-overs between queues need an event follows from the bytes (see device/events.py);
so a swap-in that stands early in the plan is a prefetch, and a place is not written
before the swap-out of what lay there is done.
"""

from collections.abc import Iterable

from geeps_caffe.device.events import Span, Step, find_hand_overs
from geeps_caffe.schedule.instructions import SwapIn, SwapOut, Table
from geeps_caffe.schedule.plan import Plan

ARENA, HOST = "arena", "host arena"


def plan_steps(plan: Plan) -> list[Step]:
    """The steps of a plan, in its order."""
    sizes = plan.program.storage_bytes()
    return [_step(plan, sizes, position) for position in range(len(plan.instructions))]


def hand_overs(plan: Plan) -> dict[int, tuple[int, ...]]:
    """For each instruction those whose events its queue waits for before it."""
    return find_hand_overs(plan_steps(plan))


def _step(plan: Plan, sizes: dict[str, int], position: int) -> Step:
    entry = plan.instructions[position]
    if isinstance(entry, SwapIn | SwapOut):
        here = _inside(plan, entry.storage, sizes[entry.storage], position)
        there = _outside(plan, entry.storage, sizes[entry.storage])
        if isinstance(entry, SwapIn):
            return Step(entry.queue, (there,), (here,))
        return Step(entry.queue, (here,), (there, here))  # it may be poisoned there
    if isinstance(entry, Table):
        reads, writes = _leases(plan, entry)
        return Step(entry.queue, reads, writes)
    return Step(
        entry.queue,
        _arrays(plan, entry.reads, position),
        _arrays(plan, entry.writes, position),
    )


def _inside(plan: Plan, storage: str, nbytes: int, position: int) -> Span:
    """A storage's place in the arena."""
    at = plan.places[position][storage]
    return Span(ARENA, at, at + nbytes)


def _outside(plan: Plan, storage: str, nbytes: int) -> Span:
    """A storage's home in host memory: a lease of the client, or the host arena."""
    lease = plan.program.leases.get(storage)
    if lease is not None:
        return Span(lease, 0, nbytes)
    at = plan.host_offsets[storage]
    return Span(HOST, at, at + nbytes)


def _leases(plan: Plan, entry: Table) -> tuple[tuple[Span, ...], tuple[Span, ...]]:
    """What a call of the client reads and writes of its own memory.

    Opening an update makes its memory usable, so what is copied there comes after it;
    what is there from an earlier batch may be fetched before.
    """
    program = plan.program
    if entry.call == "read":
        names = [
            n
            for n in program.leases.values()
            if not n.endswith(".diff") and program.tables.get(n) == entry.table
        ]
        return (), tuple(_whole(plan, name) for name in names)
    return tuple(_whole(plan, name) for name in entry.arrays), ()


def _whole(plan: Plan, name: str) -> Span:
    return Span(name, 0, max(plan.program.arrays[name].layout.nbytes, 1))


def _arrays(plan: Plan, names: Iterable[str], position: int) -> tuple[Span, ...]:
    found = []
    for name in dict.fromkeys(names):
        array = plan.program.arrays[name]
        if array.home != "arena":
            found.append(_whole(plan, array.name))
        elif array.storage in plan.places[position]:
            nbytes = max(array.layout.nbytes, 1)
            found.append(_inside(plan, array.storage, nbytes, position))
    return tuple(found)
