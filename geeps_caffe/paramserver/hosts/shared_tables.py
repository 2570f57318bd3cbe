"""One host's part in tables that several hosts share. No I/O.

Messages of local workers and letters of other hosts go in; messages to workers come
out, and letters are left in the outbox. `work` does one piece of the arithmetic, that
of the table which the next iteration needs first.
"""

import heapq
from typing import NamedTuple

import numpy as np

from geeps_caffe.device.array import Array
from geeps_caffe.errors import ParameterServerError
from geeps_caffe.paramserver.hosts.arrivals import Arrivals
from geeps_caffe.paramserver.hosts.block_shard import Applied, BlockShard
from geeps_caffe.paramserver.hosts.copies import Copies
from geeps_caffe.paramserver.hosts.letter_rules import LetterRules
from geeps_caffe.paramserver.hosts.local_sums import LocalSums, Share
from geeps_caffe.paramserver.hosts.outbox import Outbox, Payload
from geeps_caffe.paramserver.hosts.peer_messages import (
    Copy,
    NormPart,
    Nothing,
    Part,
    PeerMessage,
    Rows,
    Taken,
    Wanted,
)
from geeps_caffe.paramserver.hosts.pieces import (
    PIECE_BYTES,
    WHOLE_BYTES,
    Piece,
    cut_all,
)
from geeps_caffe.paramserver.hosts.places import Places
from geeps_caffe.paramserver.hosts.pulls import Pulls
from geeps_caffe.paramserver.hosts.replicas import Replicas
from geeps_caffe.paramserver.hosts.wire_types import WireType
from geeps_caffe.paramserver.memory import Memory
from geeps_caffe.paramserver.messages import (
    Clipped,
    Close,
    Fresh,
    Gather,
    Gathered,
    Message,
    Outgoing,
    Publish,
    Published,
    Pull,
    Push,
)
from geeps_caffe.paramserver.scheme import ASYNC, Scheme
from geeps_caffe.paramserver.vector_clock import VectorClock

_EMPTY = np.empty(0, np.uint8)


class _Sum(NamedTuple):
    """A piece of the local workers' sum that is to be made and sent.

    The first five fields are the order of work; no two jobs have the same.
    """

    clock: int
    table: int
    place: int  # of the piece in its block
    turn: int  # owners by turns, this host last
    source: int
    piece: Piece
    share: Share
    pushes: dict[int, Push]


class SharedTables:
    """See the module. Workers are counted from 0 on this host, in both directions."""

    def __init__(
        self,
        scheme: Scheme,
        memory: Memory,
        places: Places,
        outbox: Outbox,
        wire: WireType,
        piece_bytes: int = PIECE_BYTES,
        whole_bytes: int = WHOLE_BYTES,
    ) -> None:
        self._scheme, self._memory = scheme, memory
        self._places, self._outbox, self._wire = places, outbox, wire
        cuts = cut_all(scheme, places.hosts, wire.exact, piece_bytes, whole_bytes)
        self._pieces, self._whole = cuts.pieces, cuts.whole
        self._rules = LetterRules(scheme, cuts, places, wire)
        self._replicas = Replicas(scheme, memory.weights, wire)
        self._shard = BlockShard(
            scheme,
            cuts.blocks(places.host),
            self._replicas.exact,
            memory.history,
            places.hosts,
            places.ranks,
            cuts.whole,
        )
        self._arrivals = Arrivals(scheme, self._pieces, places.ranks)
        self._sums = LocalSums(scheme, memory)
        first = places.local[0]
        self._clocks = [
            VectorClock(table.name, memory.workers, first) for table in scheme.tables
        ]
        self._due: list[_Sum] = []
        self._pulls = Pulls(scheme, memory, self._pieces, self._arrivals, places.ranks)
        self._copies = Copies(
            places,
            memory,
            cuts,
            outbox,
            self._arrivals.age,
            self._replicas.assigned,
        )

    # Local workers

    @property
    def busy(self) -> bool:
        """Whether `work` has something to do."""
        return bool(self._due) or self._shard.busy

    def receive(self, worker: int, message: Message) -> Outgoing:
        """Take a message of a local worker."""
        match message:
            case Push():
                self._rules.check_table(message.table)
                whole = self._clocks[message.table].push(worker, message)
                self._advanced(worker, message.table, message.clock, whole)
            case Close(clock=clock):
                for table, state in enumerate(self._clocks):
                    if state.clocks[worker] < clock:
                        whole = state.advance(worker, clock)
                        self._advanced(worker, table, clock, whole)
            case Pull():
                self._rules.check_table(message.table)
                return self._pulls.ask(worker, message)
            case Publish(targets=targets):
                for target in targets:
                    self._rules.check_table(target // 2)
                done = self._copies.publish(worker, targets)
                return [(who, Published()) for who in done]
            case Gather(table=table):
                self._rules.check_table(table)
                return self._gathered(self._copies.gather(worker, table))
            case _:
                raise ParameterServerError(f"tables can't take {message}")
        return self._measure()

    def _gathered(self, workers: list[int]) -> Outgoing:
        return [(worker, Gathered()) for worker in workers]

    def _advanced(self, worker: int, table: int, clock: int, whole: bool) -> None:
        """A worker's clock has come, and with it, if `whole`, that of all here."""
        pushes = self._clocks[table].pushes
        if self._scheme.tables[table].slack == ASYNC:
            push = pushes.get(clock, {}).pop(worker, None)
            one = {} if push is None else {worker: push}
            self._hand_in(table, clock, self._places.local[worker], one)
            if not pushes.get(clock, True):
                del pushes[clock]
        elif whole:
            found = pushes.pop(clock, {})
            self._hand_in(table, clock, self._places.host, found)

    def _hand_in(
        self, table: int, clock: int, source: int, pushes: dict[int, Push]
    ) -> None:
        """Send a source's update to all blocks: as jobs, most urgent first."""
        if not pushes:
            self._send_nothing(table, clock, source)
            return
        alone = self._scheme.tables[table].slack == ASYNC
        if not alone:
            self._sums.begin(table, clock, pushes)
        share = self._sums.share(pushes)
        if alone:
            (push,) = pushes.values()
            share = Share(push.iteration, push.rate, 1.0, 1.0)
        for block in self._pieces[table]:
            for piece in block:
                turn = (piece.owner - self._places.host - 1) % self._places.hosts
                order = clock, table, piece.index, turn, source
                job = _Sum(*order, piece, share, pushes)
                heapq.heappush(self._due, job)

    def _send_nothing(self, table: int, clock: int, source: int) -> None:
        weight = float(self._memory.workers)
        for host in self._places.others:
            self._outbox.put(host, Nothing(table, clock, source, weight))
        self._shard.take_nothing(source, table, clock, weight)

    # Arithmetic

    def work(self) -> Outgoing:
        """Do one piece of what is due."""
        due, shard = self._due, self._shard
        if due and (not shard.busy or (due[0].clock, due[0].table) < shard.urgent):
            return self._sum(heapq.heappop(due))
        return self._spread(shard.work())

    def _sum(self, job: _Sum) -> Outgoing:
        where = job.piece.where
        if self._scheme.tables[job.table].slack == ASYNC:
            worker = job.source - self._places.local[0]
            part = self._memory.update(worker, job.table, job.clock)[where]
        else:
            part = self._sums.sum(job.table, job.clock, where, job.pushes)
        if self._whole[job.table]:
            # this host may have done with it before the letters have left
            data = part.tobytes()
            for host in self._places.others:
                self._send_part(host, job, data)
        elif job.piece.owner != self._places.host:
            self._send_part(job.piece.owner, job, self._wire.encode(part))
            return []
        piece = job.piece.index
        self._shard.take(job.source, job.table, job.clock, piece, job.share, part)
        return self._measure()

    def _send_part(self, host: int, job: _Sum, data: Payload) -> None:
        share = job.share
        message = Part(
            job.table,
            job.clock,
            job.source,
            job.piece.index,
            share.iteration,
            share.rate,
            share.factor,
            share.weight,
        )
        self._outbox.put(host, message, data, (job.clock, job.table))

    def _measure(self) -> Outgoing:
        out: Outgoing = []
        for clock, total in self._shard.measure():
            for host in self._places.others:
                self._outbox.put(host, NormPart(clock, total))
            out += self._norm(self._places.host, clock, total)
        return out

    def _norm(self, host: int, clock: int, total: float) -> Outgoing:
        clipping = self._shard.hear(host, clock, total)
        if clipping is None:
            return []
        told = Clipped(clock, clipping.norm)
        return [(worker, told) for worker in range(self._memory.workers)]

    def _spread(self, applied: Applied) -> Outgoing:
        """A piece of the own block is new: tell the other hosts."""
        table, host = applied.table, self._places.host
        message = Rows(table, applied.clock, applied.source, applied.piece)
        if self._whole[table]:  # as all other hosts do by themselves
            return self._arrived(message, host)
        piece = self._pieces[table][host][applied.piece]
        data = self._replicas.change(table, piece) if applied.changed else _EMPTY
        for other in self._places.others:
            self._outbox.put(other, message, data, (applied.clock, table))
        return self._arrived(message, host)

    def _arrived(self, rows: Rows, owner: int) -> Outgoing:
        table, source = rows.table, rows.source
        if not self._arrivals.note(table, rows.clock, source, owner, rows.piece):
            return []
        fresh = Fresh(table, rows.clock)
        workers = range(self._memory.workers)
        if source >= 0:
            here = self._places.local
            workers = range(source - here[0], source - here[0] + 1)
            workers = workers if source in here else range(0)
        out: Outgoing = [(worker, fresh) for worker in workers]
        self._copies.look()
        return out + self._pulls.answer(table)

    # Other hosts

    def hear(self, host: int, message: PeerMessage, data: Array) -> Outgoing:
        """Take a letter of another host; `data` is kept until it is used.

        Raises:
            ParameterServerError: it does not fit the tables.
        """
        match message:
            case Part():
                self._rules.check_part(host, message, data)
                share = Share(
                    message.iteration, message.rate, message.factor, message.weight
                )
                dtype = np.dtype(self._scheme.tables[message.table].dtype)
                part = self._wire.decode(data, dtype)
                self._shard.take(
                    message.source,
                    message.table,
                    message.clock,
                    message.piece,
                    share,
                    part,
                )
                return self._measure()
            case Nothing(table, clock, source, weight):
                self._rules.check_source(host, table, source)
                self._shard.take_nothing(source, table, clock, weight)
                return self._measure()
            case Rows():
                return self._take_rows(host, message, data)
            case NormPart(clock, total):
                return self._norm(host, clock, total)
            case Copy():
                return self._gathered(self._copies.take(host, message, data))
            case Taken():
                done = self._copies.taken(host, message)
                return [(worker, Published()) for worker in done]
            case Wanted():
                self._copies.want(host, message)
                return []
        raise ParameterServerError(f"tables can't take {message}")

    def _take_rows(self, host: int, rows: Rows, data: Array) -> Outgoing:
        piece = self._rules.check_rows(host, rows, data)
        if data.nbytes:
            self._replicas.receive(rows.table, piece, data)
        return self._arrived(rows, host)
