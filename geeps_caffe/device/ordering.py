"""Calls on a device's queues: with the events that order what they share."""

from collections.abc import Sequence
from dataclasses import replace

from geeps_caffe.device.device import Call
from geeps_caffe.device.events import Step, find_hand_overs
from geeps_caffe.device.streams import QUEUES, Queues

HOST = "host"  # steps of this thread: they wait themselves, and are done at once


def in_order(
    steps: Sequence[Step], calls: Sequence[Call], queues: Queues, *, loop: bool = True
) -> list[Call]:
    """Each step's call with the waits before it and its event after it.

    Args:
        steps: one for each call. Those of the copy queues go there by themselves; all
            others run on the current stream, which must be that of computing, or on
            this thread: those of a queue that is none of the device's.
        calls: what the steps do.
        queues: of the device.
        loop: whether the calls are made over and over.
    """
    placed = placed_steps(steps)
    waits = find_waits(placed, loop=loop)
    events = {i: queues.event() for others in waits.values() for i in others}
    rows = []
    for i, (step, call) in enumerate(zip(placed, calls, strict=True)):
        row = [bind_wait(step, events[j], queues) for j in waits.get(i, ())]
        row.append(call)
        if i in events:
            row.append(queues.bind_record(step.queue, events[i]))
        rows.append(in_turn(row))
    return rows


def placed_steps(steps: Sequence[Step]) -> list[Step]:
    """The steps on queues of the device, and those of this thread on HOST."""
    return [s if s.queue in QUEUES else replace(s, queue=HOST) for s in steps]


def find_waits(placed: Sequence[Step], *, loop: bool = True) -> dict[int, list[int]]:
    """For each step those whose events it waits for.

    What this thread did is done when anything later is handed over.
    """
    found = find_hand_overs(placed, loop=loop)
    return {
        at: [other for other in others if placed[other].queue != HOST]
        for at, others in found.items()
    }


def bind_wait(step: Step, event: object, queues: Queues) -> Call:
    """The wait of a step's queue, or of this thread."""
    if step.queue == HOST:
        return queues.bind_host_wait(event)
    return queues.bind_wait(step.queue, event)


def in_turn(calls: Sequence[Call]) -> Call:
    """One call that makes several, one after the other."""
    if len(calls) == 1:
        return calls[0]
    row = tuple(calls)

    def run() -> None:
        for call in row:
            call()

    return run
