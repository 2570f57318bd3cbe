"""The store of one of several workers: tables in memory that the owner shares."""

import logging
import os
import threading
import time
from collections.abc import Callable, Sequence

import numpy as np

from geeps_caffe.device.array import Array
from geeps_caffe.errors import ParameterServerError, PeerLost
from geeps_caffe.paramserver.heartbeat import Heartbeat
from geeps_caffe.paramserver.limits import BEATS, Limits
from geeps_caffe.paramserver.memory import Memory
from geeps_caffe.paramserver.messages import (
    PROTOCOL,
    Beat,
    Bye,
    Clipped,
    Close,
    Copied,
    Flags,
    Fresh,
    Gather,
    Gathered,
    Granted,
    Hello,
    Lost,
    Meet,
    Message,
    Met,
    Missing,
    Propose,
    Publish,
    Published,
    Pull,
    Push,
    Refused,
    Waiting,
)
from geeps_caffe.paramserver.scheme import ASYNC, Scheme, write_scheme
from geeps_caffe.paramserver.stats import Stats
from geeps_caffe.paramserver.transport.base import Link
from geeps_caffe.solvers import Clipping, Hyper

_LOG = logging.getLogger(__name__)


class RemoteStore:
    """See `store.Store`.

    Without slack the weights are the owner's own memory: nobody may change them
    between this worker's first and last use in a clock, because its own push is
    awaited before. With slack the owner renews a copy at the first read of a clock;
    with `read_my_writes` this worker's own updates, where they are only added, are in
    it before those of the others.
    """

    def __init__(
        self,
        link: Link,
        rank: int,
        ranks: int,
        limits: Limits | None = None,
        read_my_writes: bool = False,
    ) -> None:
        self.rank = rank
        self.ranks = ranks
        self.stats = Stats(rank, ranks)
        self._link = link
        self._limits = limits or Limits()
        self._read_my_writes = read_my_writes
        self._granted: Granted | None = None
        self._held: tuple[Push, ...] = ()
        self._answers = 0  # Published and Gathered
        self._met: Met | None = None
        self._flags_clock = -1  # the last clock whose flags are known
        self._raised: dict[int, int] = {}  # by clock: flags not told to the program
        self._clipping: Clipping | None = None
        self._ages: list[int] = []
        self._leaving = False
        link.send(Hello(PROTOCOL, rank, ranks, os.getpid()))
        self._heartbeat = Heartbeat(link, self._limits.beat)

    def create(self, scheme: Scheme) -> None:
        """Propose the tables; wait until all workers have proposed the same."""
        self._link.send(Propose(write_scheme(scheme)))
        self._wait(lambda: self._granted is not None, "the other workers' tables")
        assert self._granted is not None
        granted = self._granted
        self._worker, self._hosts = granted.worker, granted.hosts
        block = self._link.memory(granted.nbytes)
        self._memory = Memory(scheme, granted.workers, block)
        self._scheme = scheme
        self._ages = [-1] * len(scheme.tables)  # of the owner's weights
        self._copied = [-1] * len(scheme.tables)  # of this worker's copies
        self._renewed = [-1] * len(scheme.tables)  # the clock of the last copy
        self._pushed = [-1] * len(scheme.tables)  # the last clock with an update
        self._pulling: int | None = None
        own = scheme.gathered and granted.worker > 0
        self._updates = [
            np.zeros(table.elements, table.dtype) if own or table.slack else None
            for table in scheme.tables
        ]
        self._slack = max(table.slack for table in scheme.tables)
        self._unbounded = any(table.slack == ASYNC for table in scheme.tables)
        self.stats = Stats(self.rank, self.ranks, (t.name for t in scheme.tables))

    def weights(self, table: int) -> Array:
        """The owner's array, or this worker's copy of a table with slack."""
        return self._memory.copy(self._worker, table)

    def gradient(self, table: int) -> Array:
        """This worker's slot; a buffer for tables with slack, or if it has none."""
        buffer = self._updates[table]
        return self._memory.update(self._worker, table, 0) if buffer is None else buffer

    def blocks(self) -> tuple[Array, ...]:
        """The block that all workers map, and this one's buffers."""
        return (self._memory.block, *(u for u in self._updates if u is not None))

    def pull(self, table: int, clock: int, slack: int) -> None:
        """Returns at once if the values are there."""
        shared = self._scheme.tables[table]
        started = time.perf_counter()
        if not shared.slack:
            self._wait_for_age(table, clock - 1)
            age = self._ages[table]
        else:
            wanted = -1 if slack == ASYNC else clock - slack - 1
            if self._renewed[table] == clock and self._copied[table] >= wanted:
                return
            self._renew(table, wanted)
            self._renewed[table] = clock
            age = self._copied[table]
        seconds = time.perf_counter() - started
        self.stats.tables[table].count_pull(shared.nbytes, seconds, clock - 1 - age)

    def _renew(self, table: int, age: int) -> None:
        self._pulling = table
        own = self._pushed[table] if self._shows_own(table) else -1
        self._link.send(Pull(table, max(age, -1), own))
        what = f"table {self._scheme.tables[table].name!r} with clock {age}"
        self._wait(lambda: self._pulling is None, what)

    def _shows_own(self, table: int) -> bool:
        """Whether own updates are seen early: those that are only added."""
        bounded = self._scheme.tables[table].slack != ASYNC
        added = self._scheme.rule_of(table) is None
        return self._read_my_writes and bounded and added

    def _wait_for_age(self, table: int, age: int) -> None:
        if self._ages[table] >= age:
            return
        what = f"table {self._scheme.tables[table].name!r} with clock {age}"
        self._wait(lambda: self._ages[table] >= age, what)

    def claim(self, table: int, clock: int) -> None:
        """A slot that the owner still reads must not be written; buffers are free."""
        if not self._scheme.tables[table].slack:
            self._wait_for_age(table, clock - 1)

    def push(
        self, table: int, clock: int, hyper: Hyper, weight: float, last: bool = False
    ) -> None:
        """Ring the doorbell; of a table with slack, copy the update to a free slot."""
        started = time.perf_counter()
        shared = self._scheme.tables[table]
        buffer = self._updates[table]
        if buffer is not None and shared.slack:
            free = clock - 1 if shared.slack == ASYNC else clock - shared.slack - 1
            self._wait_for_age(table, free)
            np.copyto(self._memory.update(self._worker, table, clock), buffer)
        self._pushed[table] = clock
        message = Push(table, clock, hyper.iteration, hyper.rate, weight)
        if last:
            self._held = (message,)  # it goes with the end of the clock
        else:
            self._link.send(message)
        seconds = time.perf_counter() - started
        handed = buffer is None or bool(shared.slack)
        self.stats.tables[table].count_push(shared.nbytes * handed, seconds)

    def close(self, clock: int, hyper: Hyper, flags: int) -> None:
        """Tell the owner; waits for nothing."""
        self.stats.clocks += 1
        self._link.send(*self._held, Close(clock, flags))
        self._held = ()

    def settled(self, table: int, clock: int) -> Array:
        """The owner's array. An unbounded table may go on changing."""
        if self._scheme.tables[table].slack == ASYNC:
            self._renew(table, clock - 1)
        else:
            self._wait_for_age(table, clock - 1)
        return self._memory.weights[table]

    def history(self, table: int, clock: int) -> tuple[Array, ...]:
        """The owner's arrays, to which other hosts add their blocks first."""
        self.settled(table, clock)
        if self._hosts > 1:
            name = self._scheme.tables[table].name
            self._ask(Gather(table), f"the history of table {name!r} from other hosts")
        return self._memory.history[table]

    def write(self, array: Array, values: Array) -> None:
        """Into the owner's array; `publish` tells the other hosts."""
        array[...] = values

    def publish(self, targets: Sequence[int]) -> None:
        """Ask the host's agent to send the values to all others."""
        if self._hosts > 1:
            self._ask(Publish(tuple(targets)), "other hosts to take assigned values")

    def _ask(self, request: Message, what: str) -> None:
        wanted = self._answers + 1
        self._link.send(request)
        self._wait(lambda: self._answers >= wanted, what)

    def meet(
        self, clock: int, values: Sequence[float], assigned: Sequence[int]
    ) -> tuple[list[float], dict[int, int]]:
        """Two messages, however many workers."""
        numbers = tuple(float(value) for value in values)
        self._link.send(Meet(clock, numbers, tuple(assigned)))
        self._wait(lambda: self._met is not None, f"a meeting after clock {clock - 1}")
        assert self._met is not None
        met, self._met = self._met, None
        if met.owners:  # copies made before do not show what is assigned now
            self._renewed = [-1] * len(self._renewed)
        return list(met.values), dict(met.owners)

    def flags(self, clock: int) -> int:
        """Those up to clock - 2 (less with slack): of later ones some may not know.

        With tables without bound, those of them that this worker has heard of.
        """
        known = clock - 2 - self._slack
        if self._unbounded:
            known = min(known, self._flags_clock)
        self._wait(lambda: self._flags_clock >= known, f"the flags of clock {known}")
        found = 0
        for due in [c for c in self._raised if c <= known]:
            found |= self._raised.pop(due)
        return found

    def clipping(self) -> Clipping | None:
        """Of the last clock that clipped."""
        return self._clipping

    def when_over(self, call: Callable[[], object]) -> None:
        """A thread of its own waits for the connection to end."""

        def watch() -> None:
            self._link.await_end()
            if not self._leaving:
                call()

        threading.Thread(target=watch, name="end of the run", daemon=True).start()

    def shutdown(self, *, failed: bool = False) -> None:
        """Say goodbye.

        A worker that failed says nothing: its connection ends with its process, so that
        whoever is told that it is lost can say how it ended.
        """
        self._leaving = True
        self._heartbeat.stop()
        if failed:
            return
        self._link.send(Bye())
        self._link.close()

    # Waiting

    def _wait(self, done: Callable[[], bool], what: str) -> None:
        """Take messages until `done`; the owner must give signs of life meanwhile."""
        started = time.monotonic()
        while not done():
            message = self._next_message(what)
            blocked = time.monotonic() - started
            if isinstance(message, Missing) and blocked >= self._limits.report:
                raise self._lost(what, f"{message.text}; it has ended in peace")
            self._take(message, what)

    def _next_message(self, what: str) -> Message:
        """Some short waits: of what a stopped process has slept through, one counts."""
        try:
            for _ in range(BEATS):
                message = self._link.receive(self._limits.beat)
                if message is not None:
                    return message
        except PeerLost as error:
            raise self._lost(what, str(error)) from error
        silence = f"{self._limits.silence:g} s"
        raise self._lost(what, f"no sign of life from the host agent for {silence}")

    def _lost(self, what: str, reason: str) -> PeerLost:
        me = f"rank {self.rank} (process {os.getpid()})"
        return PeerLost(f"{me} waited for {what}: {reason}")

    def _take(self, message: Message, what: str) -> None:
        match message:
            case Fresh(table=table, age=age):
                self._ages[table] = age
            case Copied(table=table, age=age):
                self._copied[table] = age
                self._pulling = None
            case Met():
                self._met = message
            case Flags(clock=clock, flags=flags):
                self._flags_clock = clock
                if flags:
                    self._raised[clock] = flags
            case Clipped(norm=norm):
                self._clipping = Clipping(norm, self._scheme.hyper.clip_gradients)
            case Granted():
                self._granted = message
            case Published() | Gathered():
                self._answers += 1
            case Beat() | Missing():  # news of before this wait are none
                pass
            case Waiting(text=text):
                _LOG.info("%s (for %s)", text, what)
            case Lost(reason=reason):
                raise PeerLost(reason)
            case Refused(reason=reason):
                raise ParameterServerError(reason)
            case _:
                raise ParameterServerError(f"the host agent sent {message}")
