"""The owner of tables as a state machine: messages in, messages out, no I/O.

A table's clock is complete when every worker has pushed it (or closed the clock
without). Then its rule runs on the workers' updates, in worker order, whatever order
they came in, so that a run can be repeated bit by bit. `receive` only notes what is
due; `work` does the arithmetic, one table at a time, the one needed first first.
"""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from geeps_caffe.device.array import Array
from geeps_caffe.errors import ParameterServerError
from geeps_caffe.paramserver.applier import Applier
from geeps_caffe.paramserver.hands import Hands
from geeps_caffe.paramserver.memory import Memory
from geeps_caffe.paramserver.messages import (
    Clipped,
    Close,
    Copied,
    Fresh,
    Message,
    Outgoing,
    Pull,
    Push,
)
from geeps_caffe.paramserver.norms import Norms
from geeps_caffe.paramserver.reduction import Reduction, own_share
from geeps_caffe.paramserver.scheme import ASYNC, Scheme
from geeps_caffe.paramserver.vector_clock import VectorClock
from geeps_caffe.paramserver.workspace import Workspaces
from geeps_caffe.solvers import Clipping, Hyper, normalization


@dataclass
class _Table:
    """What the shard knows of one table."""

    clock: VectorClock
    applied: list[int]  # the last clock of each worker that is in the weights
    pulls: list[tuple[int, Pull]] = field(default_factory=list)  # not yet answerable

    @property
    def age(self) -> int:
        """All workers' updates up to this clock are in the weights."""
        return min(self.applied)


class _Job(NamedTuple):
    """An update that can be applied; the first three fields are the order of work.

    No two jobs have the same.
    """

    clock: int
    table: int
    worker: int  # -1: of all workers
    clipping: Clipping | None = None


class Shard:
    """Owns all tables of a host whose workers share them with no other host.

    Args:
        scheme: all tables.
        memory: theirs and the workers'.
        hands: the threads that large tables' arithmetic is shared by.
    """

    def __init__(
        self, scheme: Scheme, memory: Memory, hands: Hands | None = None
    ) -> None:
        self._scheme = scheme
        self._memory = memory
        self._workers = memory.workers
        self._hyper = scheme.hyper  # of the last update
        self._tables = [
            _Table(VectorClock(table.name, self._workers), [-1] * self._workers)
            for table in scheme.tables
        ]
        work = Workspaces(scheme, hands)
        self._appliers = [
            Applier(scheme, t, memory.weights[t], memory.history[t], work=work.of(t))
            for t in range(len(scheme.tables))
        ]
        self._ready: list[_Job] = []
        clipped = [
            t for t in range(len(scheme.tables)) if scheme.rule_of(t) is not None
        ]
        self._norms = Norms(clipped) if scheme.hyper.clips else None

    @property
    def busy(self) -> bool:
        """Whether `work` has something to do."""
        return bool(self._ready)

    def age(self, table: int) -> int:
        """The last clock whose updates are in the table."""
        return self._tables[table].age

    def receive(self, worker: int, message: Message) -> Outgoing:
        """Take one message and return the answers that can be sent now.

        Raises:
            ParameterServerError: the message breaks the rules (it says which).
        """
        match message:
            case Push():
                self._check(message.table)
                self._push(worker, message)
            case Close(clock=clock):
                for table, state in enumerate(self._tables):
                    if state.clock.clocks[worker] < clock:
                        whole = state.clock.advance(worker, clock)
                        self._note(worker, table, clock, whole)
            case Pull():
                self._check(message.table)
                return self._pull(worker, message)
            case _:
                raise ParameterServerError(f"a shard can't take {message}")
        return self._measure()

    def _push(self, worker: int, push: Push) -> None:
        whole = self._tables[push.table].clock.push(worker, push)
        self._note(worker, push.table, push.clock, whole)

    def _note(self, worker: int, table: int, clock: int, whole: bool) -> None:
        """A worker's clock has come, and with it, if `whole`, all of the table's."""
        if self._scheme.tables[table].slack == ASYNC:
            heapq.heappush(self._ready, _Job(clock, table, worker))
        elif whole:
            self._complete(table, clock)

    def _complete(self, table: int, clock: int) -> None:
        if self._norms is not None and self._scheme.rule_of(table) is not None:
            self._norms.note(table, clock)
        else:
            heapq.heappush(self._ready, _Job(clock, table, -1))

    def _check(self, table: int) -> None:
        if not 0 <= table < len(self._tables):
            raise ParameterServerError(f"there is no table {table}")

    # Clipping: all tables of a clock must be there before any is used

    def _measure(self) -> Outgoing:
        """Where a clock has all its tables, its norm."""
        if self._norms is None:
            return []
        out: Outgoing = []
        for clock, tables in self._norms.complete():
            total = sum(self._squares(table, clock) for table in tables)
            out += self._clip(clock, total)
        return out

    def _squares(self, table: int, clock: int) -> float:
        updates, reduction = self._updates(table, clock)
        if not updates:
            return 0.0
        return self._appliers[table].squares(updates, reduction)

    def _clip(self, clock: int, total: float) -> Outgoing:
        assert self._norms is not None
        clipping = Clipping(total**0.5, self._scheme.hyper.clip_gradients)
        for table in self._norms.tables:
            heapq.heappush(self._ready, _Job(clock, table, -1, clipping))
        told = Clipped(clock, clipping.norm)
        return [(worker, told) for worker in range(self._workers)]

    # Applying

    def work(self) -> Outgoing:
        """Apply the most urgent update that is due, and tell who waits for it."""
        job = heapq.heappop(self._ready)
        if job.worker >= 0:
            return self._work_alone(job)
        updates, reduction = self._updates(job.table, job.clock)
        state = self._tables[job.table]
        pushes = state.clock.pushes.pop(job.clock, {})
        if updates:
            some = next(iter(pushes.values()))
            self._apply(job, updates, reduction, some)
        state.applied = [job.clock] * self._workers
        fresh = Fresh(job.table, job.clock)
        out: Outgoing = [(worker, fresh) for worker in range(self._workers)]
        return out + self._answer(job.table)

    def _updates(self, table: int, clock: int) -> tuple[list[Array], Reduction]:
        """The updates of all workers; a worker without one counts as zeros."""
        pushes = self._tables[table].clock.pushes.get(clock, {})
        if not pushes:
            return [], Reduction("sum", [1.0])
        weights = [pushes[w].weight if w in pushes else 1.0 for w in self._ranks]
        updates = [self._memory.update(w, table, clock) for w in self._ranks]
        for worker in self._ranks:
            if worker not in pushes:
                updates[worker].fill(0)
        return updates, Reduction(self._scheme.reduce_of(table), weights)

    @property
    def _ranks(self) -> range:
        return range(self._workers)

    def _apply(
        self, job: _Job, updates: Sequence[Array], reduction: Reduction, push: Push
    ) -> None:
        hyper = self._hyper_of(push)
        scale = normalization(hyper, job.clipping)
        self._appliers[job.table].apply(updates, reduction, hyper, scale)

    def _hyper_of(self, push: Push) -> Hyper:
        if (self._hyper.rate, self._hyper.iteration) != (push.rate, push.iteration):
            self._hyper = replace(self._hyper, rate=push.rate, iteration=push.iteration)
        return self._hyper

    def _work_alone(self, job: _Job) -> Outgoing:
        """One worker's update of a table without bound, as one part of the mean."""
        state = self._tables[job.table]
        pushes = state.clock.pushes.get(job.clock, {})
        push = pushes.pop(job.worker, None)
        if not pushes:
            state.clock.pushes.pop(job.clock, None)
        if push is not None:
            update = self._memory.update(job.worker, job.table, job.clock)
            shared = Reduction("sum", [1.0])
            if self._scheme.reduce_of(job.table) == "mean":
                shared.scale = 1.0 / self._workers
            self._apply(job, [update], shared, push)
        state.applied[job.worker] = job.clock
        return [(job.worker, Fresh(job.table, job.clock)), *self._answer(job.table)]

    # Copies for tables with slack

    def _pull(self, worker: int, pull: Pull) -> Outgoing:
        self._tables[pull.table].pulls.append((worker, pull))
        return self._answer(pull.table)

    def _answer(self, table: int) -> Outgoing:
        """Renew the copies that the table is fresh enough for."""
        state = self._tables[table]
        if not state.pulls:
            return []
        due = [(w, pull) for w, pull in state.pulls if state.age >= pull.age]
        state.pulls = [(w, pull) for w, pull in state.pulls if state.age < pull.age]
        for worker, pull in due:
            copy = self._memory.copy(worker, table)
            np.copyto(copy, self._memory.weights[table])
            scale = own_share(self._scheme.reduce_of(table), self._workers)
            for clock in range(state.age + 1, pull.own + 1):
                copy += self._memory.update(worker, table, clock) * scale
        return [(worker, Copied(table, state.age)) for worker, _ in due]
