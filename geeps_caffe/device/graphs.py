"""Runs of steps as CUDA graphs: captured once, then launched as one.

A graph keeps the arguments that its launches had when they were captured, so only
steps whose arguments never change may be in one. Copies within it run on branches,
which are joined before it ends; what comes later waits for all of it.
"""

from collections.abc import Mapping, Sequence

from geeps_caffe.device.device import Call
from geeps_caffe.device.events import Segment, Step
from geeps_caffe.device.ordering import (
    bind_wait,
    find_waits,
    in_order,
    in_turn,
    placed_steps,
)
from geeps_caffe.device.streams import COMPUTE, Queues


def with_graphs(
    segments: Sequence[Segment],
    steps: Sequence[Step],
    calls: Sequence[Call],
    queues: Queues,
) -> list[Call]:
    """A call for each segment: `calls` with a graph in the place of what is captured.

    Copies are either all captured or all left out.

    Raises:
        RuntimeError: CUDA refuses a capture; nothing has been changed then.
    """
    placed = placed_steps(steps)
    where = {i: n for n, part in enumerate(segments) for i in part.captured}
    _check_copies(placed, where)
    plan = _Plan(placed, find_waits(placed), where, queues)
    return [plan.bind(n, part, calls) for n, part in enumerate(segments)]


def _check_copies(placed: Sequence[Step], where: Mapping[int, int]) -> None:
    inside = {i in where for i, step in enumerate(placed) if step.queue != COMPUTE}
    assert len(inside) < 2, "some copies are captured and some are not"


class _Plan:
    """Steps, what each waits for, and which are in which graph."""

    def __init__(
        self,
        placed: Sequence[Step],
        waits: Mapping[int, Sequence[int]],
        where: Mapping[int, int],
        queues: Queues,
    ) -> None:
        self._placed, self._waits, self._where = placed, waits, where
        self._queues = queues
        pairs = [(i, j) for i, others in waits.items() for j in others]
        alone = {j for _, j in pairs if j not in where}
        graphs = {where[j] for i, j in pairs if i not in where and j in where}
        self._events = {j: queues.event() for j in alone}
        self._ends = {n: queues.event() for n in graphs}

    def bind(self, number: int, part: Segment, calls: Sequence[Call]) -> Call:
        """The graph of a segment, and what follows it."""
        row: list[Call] = []
        if part.captured:
            waited = sorted({j for i in part.captured for j in self._outside(i)})
            queue = self._queues
            row += [queue.bind_wait(COMPUTE, self._events[j]) for j in waited]
            row.append(queue.bind_graph(self._inside(part.captured, calls)))
            if number in self._ends:
                row.append(queue.bind_record(COMPUTE, self._ends[number]))
        for i in part.after:
            row += self._alone(i, calls[i])
        return in_turn(row)

    def _outside(self, step: int) -> list[int]:
        """What a captured step waits for that is in no graph; graphs are in order."""
        return [j for j in self._waits.get(step, ()) if j not in self._where]

    def _alone(self, i: int, call: Call) -> list[Call]:
        step, row = self._placed[i], []
        for j in self._waits.get(i, ()):
            if j not in self._where:
                row.append(bind_wait(step, self._events[j], self._queues))
            elif step.queue != COMPUTE:  # which knows what it launched before
                end = self._ends[self._where[j]]
                row.append(bind_wait(step, end, self._queues))
        row.append(call)
        if i in self._events:
            row.append(self._queues.bind_record(step.queue, self._events[i]))
        return row

    def _inside(self, positions: Sequence[int], calls: Sequence[Call]) -> list[Call]:
        """The calls of a graph, between where its branches begin and where they end."""
        steps = [self._placed[i] for i in positions]
        row = in_order(steps, [calls[i] for i in positions], self._queues, loop=False)
        branches = sorted({step.queue for step in steps} - {COMPUTE})
        if not branches:
            return row
        begin, queue = self._queues.event(), self._queues
        fork = [queue.bind_record(COMPUTE, begin)]
        fork += [queue.bind_wait(branch, begin) for branch in branches]
        join: list[Call] = []
        for branch in branches:
            end = queue.event()
            join += [queue.bind_record(branch, end), queue.bind_wait(COMPUTE, end)]
        return [*fork, *row, *join]
