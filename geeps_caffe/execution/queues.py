"""A plan's calls on a device's queues: with the events that order what they share."""

from collections.abc import Sequence

from geeps_caffe.device.events import Span, Step, find_hand_overs
from geeps_caffe.device.kernels import Call
from geeps_caffe.device.streams import COMPUTE, QUEUES, Queues
from geeps_caffe.schedule.instructions import SwapIn, SwapOut
from geeps_caffe.schedule.plan import Plan

ARENA, HOST = "arena", "host arena"


def touches(plan: Plan, position: int) -> Step:
    """The queue of an instruction, and the bytes that it reads and writes.

    What runs on the host counts as computing: it is called in the order of that queue.
    """
    instruction = plan.instructions[position]
    if isinstance(instruction, SwapIn | SwapOut):
        return _swap(plan, position, instruction)
    queue = instruction.queue if instruction.queue in QUEUES else COMPUTE
    reads, writes = (
        tuple(_span(plan, position, name) for name in names)
        for names in (instruction.reads, instruction.writes)
    )
    return Step(queue, reads, writes)


def _swap(plan: Plan, position: int, instruction: SwapIn | SwapOut) -> Step:
    """A swap out writes its place too: it may be poisoned there."""
    name = instruction.storage
    nbytes = plan.program.storage_bytes()[name]
    begin, home = plan.places[position][name], plan.host_offsets[name]
    here = Span(ARENA, begin, begin + nbytes)
    there = Span(HOST, home, home + nbytes)
    if isinstance(instruction, SwapIn):
        return Step(instruction.queue, (there,), (here,))
    return Step(instruction.queue, (here,), (there, here))


def _span(plan: Plan, position: int, name: str) -> Span:
    array = plan.program.arrays[name]
    if array.home != "arena":
        return Span(array.name, 0, array.layout.nbytes)
    begin = plan.places[position][array.storage]
    return Span(ARENA, begin, begin + array.layout.nbytes)


def in_queues(plan: Plan, calls: Sequence[Call], queues: Queues) -> list[Call]:
    """Each instruction's call with the waits before it and its event after it.

    Args:
        calls: one for each instruction; those of swaps go to the copy queues by
            themselves (`CudaDevice.bind_copy_in`), all others run on the current
            stream, which must be that of computing.
    """
    steps = [touches(plan, i) for i in range(len(calls))]
    waits = find_hand_overs(steps)
    events = {i: queues.event() for found in waits.values() for i in found}
    rows = []
    for i, (step, call) in enumerate(zip(steps, calls, strict=True)):
        row = [queues.bind_wait(step.queue, events[j]) for j in waits.get(i, ())]
        row.append(call)
        if i in events:
            row.append(queues.bind_record(step.queue, events[i]))
        rows.append(_in_turn(row))
    return rows


def _in_turn(calls: list[Call]) -> Call:
    if len(calls) == 1:
        return calls[0]
    row = tuple(calls)

    def run() -> None:
        for call in row:
            call()

    return run
