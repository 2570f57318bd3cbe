"""Assigned values to all hosts, and history from the hosts that own it. No I/O."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np

from geeps_caffe.device.array import Array
from geeps_caffe.errors import ParameterServerError
from geeps_caffe.paramserver.hosts.outbox import Outbox
from geeps_caffe.paramserver.hosts.peer_messages import Copy, Taken, Wanted
from geeps_caffe.paramserver.hosts.pieces import Cuts
from geeps_caffe.paramserver.hosts.places import Places
from geeps_caffe.paramserver.memory import Memory


@dataclass
class _Incoming:
    """What has come with a ticket."""

    pieces: int = 0
    targets: set[int] = field(default_factory=set)


@dataclass
class _Waiting:
    """For what a worker waits: answers of so many hosts."""

    worker: int
    hosts: int


class Copies:
    """One host's part.

    Args:
        places: all hosts.
        memory: this host's tables.
        cuts: of the tables into pieces.
        outbox: for letters to other hosts.
        age: of a table here.
        assigned: is told of tables whose weights were replaced from outside.
    """

    def __init__(
        self,
        places: Places,
        memory: Memory,
        cuts: Cuts,
        outbox: Outbox,
        age: Callable[[int], int],
        assigned: Callable[[int], None],
    ) -> None:
        self._places, self._memory = places, memory
        self._pieces, self._whole = cuts.pieces, cuts.whole
        self._outbox, self._age, self._assigned = outbox, age, assigned
        self._ticket = 0
        self._waiting: dict[int, _Waiting] = {}
        self._incoming: dict[tuple[int, int], _Incoming] = {}  # by host and ticket
        self._early: list[tuple[int, Copy, Array]] = []  # for tables not so far
        self._wants: list[tuple[int, Wanted]] = []

    # Requests of local workers

    def publish(self, worker: int, targets: tuple[int, ...]) -> list[int]:
        """Send what a worker has assigned; returns whom to answer now."""
        self._note_assigned(targets)
        if not any(self._arrays(target) for target in targets):
            return [worker]
        ticket = self._open(worker)
        for host in self._places.others:
            self._send(host, ticket, False, targets, range(self._places.hosts))
        return self._settled(ticket)

    def gather(self, worker: int, table: int) -> list[int]:
        """Ask the other hosts for their blocks of a table's history."""
        if self._whole[table] or not self._memory.history[table]:  # nothing elsewhere
            return [worker]
        ticket = self._open(worker)
        for host in self._places.others:
            self._outbox.put(host, Wanted(ticket, table, self._age(table)))
        return self._settled(ticket)

    def _open(self, worker: int) -> int:
        self._ticket += 1
        self._waiting[self._ticket] = _Waiting(worker, len(self._places.others))
        return self._ticket

    def _settled(self, ticket: int) -> list[int]:
        if self._waiting[ticket].hosts:
            return []
        return [self._waiting.pop(ticket).worker]

    def _heard(self, ticket: int) -> list[int]:
        if ticket not in self._waiting:
            raise ParameterServerError(f"an answer to ticket {ticket}, which is closed")
        self._waiting[ticket].hosts -= 1
        return self._settled(ticket)

    def _send(
        self,
        host: int,
        ticket: int,
        answer: bool,
        targets: tuple[int, ...],
        owners: range | list[int],
    ) -> None:
        letters = [
            (target, slot, piece, array)
            for target in targets
            for slot, array in enumerate(self._arrays(target))
            for owner in owners
            for piece in self._pieces[target // 2][owner]
        ]
        for target, slot, piece, array in letters:
            age = self._age(target // 2)
            where = piece.owner, piece.index, len(letters), age
            message = Copy(ticket, answer, target, slot, *where)
            self._outbox.put(host, message, array[piece.where])

    def _arrays(self, target: int) -> list[Array]:
        table, of_history = divmod(target, 2)
        if of_history:
            return list(self._memory.history[table])
        return [self._memory.weights[table]]

    # Letters from other hosts

    def want(self, host: int, wanted: Wanted) -> None:
        """Another host asks for history: it gets it when the clock is in it."""
        if not 0 <= wanted.table < len(self._pieces):
            raise ParameterServerError(f"history of table {wanted.table} is wanted")
        self._wants.append((host, wanted))
        self.look()

    def taken(self, host: int, message: Taken) -> list[int]:
        """Another host has all that was assigned; returns whom to answer."""
        del host
        return self._heard(message.ticket)

    def take(self, host: int, copy: Copy, data: Array) -> list[int]:
        """A piece of an assignment or of history; returns whom to answer."""
        self._check(copy, data)
        if not copy.answer and self._age(copy.target // 2) < copy.age:
            self._early.append((host, copy, np.array(data)))
            return []
        return self._write(host, copy, data)

    def _check(self, copy: Copy, data: Array) -> None:
        table = copy.target // 2
        known = 0 <= table < len(self._pieces) and copy.pieces > 0
        known = known and 0 <= copy.owner < self._places.hosts
        known = known and 0 <= copy.piece < len(self._pieces[table][copy.owner])
        if not known or not 0 <= copy.slot < len(self._arrays(copy.target)):
            raise ParameterServerError(f"there is no place for {copy}")
        piece = self._pieces[table][copy.owner][copy.piece]
        expected = piece.size * self._memory.weights[table].itemsize
        if data.nbytes != expected:
            raise ParameterServerError(
                f"{copy} has {data.nbytes} bytes instead of {expected}"
            )

    def _write(self, host: int, copy: Copy, data: Array) -> list[int]:
        table = copy.target // 2
        piece = self._pieces[table][copy.owner][copy.piece]
        array = self._arrays(copy.target)[copy.slot]
        array[piece.where] = data.view(array.dtype)
        key = (host, -copy.ticket if copy.answer else copy.ticket)
        incoming = self._incoming.setdefault(key, _Incoming())
        incoming.pieces += 1
        incoming.targets.add(copy.target)
        if incoming.pieces < copy.pieces:
            return []
        del self._incoming[key]
        if copy.answer:
            return self._heard(copy.ticket)
        self._note_assigned(incoming.targets)
        self._outbox.put(host, Taken(copy.ticket))
        return []

    def _note_assigned(self, targets: Iterable[int]) -> None:
        for target in targets:
            if not target % 2:
                self._assigned(target // 2)

    def look(self) -> None:
        """Tables have got further: do what had to wait for that."""
        if not self._early and not self._wants:
            return
        early, self._early = self._early, []
        for host, copy, data in early:
            self.take(host, copy, data)
        wants, self._wants = self._wants, []
        for host, wanted in wants:
            if self._age(wanted.table) < wanted.clock:
                self._wants.append((host, wanted))
                continue
            target = (2 * wanted.table + 1,)
            self._send(host, wanted.ticket, True, target, [self._places.host])
