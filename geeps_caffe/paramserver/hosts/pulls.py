"""Workers' own copies of tables with slack, renewed when the table is fresh enough."""

import numpy as np

from geeps_caffe.device.array import Array
from geeps_caffe.paramserver.hosts.arrivals import Arrivals
from geeps_caffe.paramserver.hosts.pieces import Piece
from geeps_caffe.paramserver.memory import Memory
from geeps_caffe.paramserver.messages import Copied, Outgoing, Pull
from geeps_caffe.paramserver.reduction import own_share
from geeps_caffe.paramserver.scheme import Scheme


class Pulls:
    """Those of one host that can't be answered yet.

    Args:
        scheme: all tables.
        memory: this host's.
        pieces: of all tables and owners.
        arrivals: which clocks are here.
        ranks: all workers of all hosts.
    """

    def __init__(
        self,
        scheme: Scheme,
        memory: Memory,
        pieces: list[list[list[Piece]]],
        arrivals: Arrivals,
        ranks: int,
    ) -> None:
        self._scheme, self._memory, self._pieces = scheme, memory, pieces
        self._arrivals, self._ranks = arrivals, ranks
        self._waiting: list[list[tuple[int, Pull]]] = [[] for _ in scheme.tables]

    def ask(self, worker: int, pull: Pull) -> Outgoing:
        """A worker wants its copy renewed."""
        self._waiting[pull.table].append((worker, pull))
        return self.answer(pull.table)

    def answer(self, table: int) -> Outgoing:
        """Renew the copies that the table is fresh enough for."""
        age, waiting = self._arrivals.age(table), self._waiting[table]
        if not waiting:
            return []
        due = [(worker, pull) for worker, pull in waiting if age >= pull.age]
        self._waiting[table] = [(w, pull) for w, pull in waiting if age < pull.age]
        for worker, pull in due:
            copy = self._memory.copy(worker, table)
            np.copyto(copy, self._memory.weights[table])
            self._add_own(worker, pull, copy)
        return [(worker, Copied(table, age)) for worker, _ in due]

    def _add_own(self, worker: int, pull: Pull, copy: Array) -> None:
        """Add a worker's own updates that are not in the table yet."""
        table = pull.table
        scale = own_share(self._scheme.reduce_of(table), self._ranks)
        for block in self._pieces[table] if pull.own >= 0 else ():
            for piece in block:
                first = self._arrivals.clock_of(table, piece) + 1
                for clock in range(first, pull.own + 1):
                    update = self._memory.update(worker, table, clock)
                    copy[piece.where] += update[piece.where] * scale
