"""A host's block of every table: sums all sources' parts and applies the rules.

As `shard.Shard`, but piece by piece, as the parts come from other hosts.
"""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from geeps_caffe.device.array import Array
from geeps_caffe.errors import ParameterServerError
from geeps_caffe.paramserver.applier import Applier
from geeps_caffe.paramserver.hosts.local_sums import Share
from geeps_caffe.paramserver.hosts.part_clocks import PartClocks
from geeps_caffe.paramserver.hosts.pieces import Piece
from geeps_caffe.paramserver.norms import Norms
from geeps_caffe.paramserver.reduction import Reduction
from geeps_caffe.paramserver.scheme import ASYNC, Scheme
from geeps_caffe.paramserver.workspace import Workspaces
from geeps_caffe.solvers import Clipping, Hyper, normalization


@dataclass
class _Clock:
    """What has come of one clock of a table."""

    shares: dict[int, Share | None] = field(default_factory=dict)  # None: no update
    weights: dict[int, float] = field(default_factory=dict)
    nothing: int = 0  # sources without an update
    parts: list[dict[int, Array]] = field(default_factory=list)  # by piece, source
    used: int = 0  # pieces that were applied alone


class _Job(NamedTuple):
    """A piece that can be applied; the first four fields are the order of work.

    No two jobs have the same.
    """

    clock: int
    table: int
    piece: int
    source: int = -1
    clipping: Clipping | None = None


class Applied(NamedTuple):
    """A piece has a clock in it: of all sources (-1) or of one."""

    table: int
    clock: int
    source: int
    piece: int
    changed: bool


class BlockShard:
    """The arithmetic of one host's block.

    Args:
        scheme: all tables.
        pieces: of this host's block, by table.
        weights: whole arrays, by table, of which the block is changed.
        history: the same of the rules.
        hosts: how many there are; sources of tables whose slack has a bound.
        ranks: sources of the others.
        whole: the tables of which each host's block is all.
    """

    def __init__(
        self,
        scheme: Scheme,
        pieces: Sequence[Sequence[Piece]],
        weights: Sequence[Array],
        history: Sequence[Sequence[Array]],
        hosts: int,
        ranks: int,
        whole: Sequence[bool] = (),
    ) -> None:
        self._scheme, self._pieces = scheme, pieces
        self._hosts, self._ranks = hosts, ranks
        self._hyper = scheme.hyper
        #: Whether each source's update of a table is applied when it comes.
        self._alone = [table.slack == ASYNC for table in scheme.tables]
        work = Workspaces(scheme)
        self._appliers = [
            [
                Applier(
                    scheme,
                    table,
                    weights[table][piece.where],
                    [slot[piece.where] for slot in history[table]],
                    piece.start,
                    work.of(table),
                )
                for piece in block
            ]
            for table, block in enumerate(pieces)
        ]
        self._clocks: list[dict[int, _Clock]] = [{} for _ in scheme.tables]
        self._clocked = PartClocks(scheme, [len(block) for block in pieces], whole)
        self._applied = self._clocked.applied
        self._complete: list[dict[int, int]] = [{} for _ in scheme.tables]  # pieces
        self._ready: list[_Job] = []
        clipped = [t for t in range(len(pieces)) if scheme.rule_of(t) is not None]
        self._norms = Norms(clipped, hosts) if scheme.hyper.clips else None

    @property
    def busy(self) -> bool:
        """Whether `work` has something to do."""
        return bool(self._ready)

    @property
    def urgent(self) -> tuple[int, int]:
        """Clock and table of the next job; there is one."""
        return self._ready[0].clock, self._ready[0].table

    def take(
        self, source: int, table: int, clock: int, piece: int, share: Share, part: Array
    ) -> None:
        """A piece of a source's update, which is kept until it is used.

        Raises:
            ParameterServerError: it came before or too early, or another source has
                another rate.
        """
        self._clocked.take(source, table, clock, piece)
        entry = self._entry(table, clock)
        if source in entry.parts[piece]:
            raise ParameterServerError(
                f"table {self._name(table)!r}: piece {piece} of clock {clock} came "
                "twice"
            )
        if source not in entry.shares:
            self._check_rate(entry, table, clock, source, share)
            entry.shares[source] = share
            entry.weights[source] = share.weight
        entry.parts[piece][source] = part
        self._look(table, clock, piece, source)

    def take_nothing(self, source: int, table: int, clock: int, weight: float) -> None:
        """A source has no update of the table in this clock: it counts as zeros.

        Raises:
            ParameterServerError: the clock has been, or the source had an update in it.
        """
        entry = self._entry(table, clock)
        self._clocked.take_nothing(source, table, clock, source in entry.shares)
        entry.shares[source] = None
        entry.nothing += 1
        entry.weights[source] = weight
        for piece in range(len(self._pieces[table])):
            self._look(table, clock, piece, source)

    def _entry(self, table: int, clock: int) -> _Clock:
        clocks = self._clocks[table]
        if clock not in clocks:
            clocks[clock] = _Clock(parts=[{} for _ in self._pieces[table]])
        return clocks[clock]

    def _check_rate(
        self, entry: _Clock, table: int, clock: int, source: int, share: Share
    ) -> None:
        for other, known in entry.shares.items():
            if known is None or self._alone[table]:
                continue
            if (known.rate, known.iteration) != (share.rate, share.iteration):
                raise ParameterServerError(
                    f"table {self._name(table)!r}, clock {clock}: host {source} has "
                    f"rate {share.rate:g} at iteration {share.iteration}, host {other} "
                    f"{known.rate:g} at {known.iteration}"
                )

    def _name(self, table: int) -> str:
        return self._scheme.tables[table].name

    def _look(self, table: int, clock: int, piece: int, source: int) -> None:
        """Make a job of a piece that can be applied now."""
        if self._alone[table]:
            heapq.heappush(self._ready, _Job(clock, table, piece, source))
            return
        if not self._is_complete(table, clock, piece):
            return
        if self._norms is not None and self._scheme.rule_of(table) is not None:
            complete = self._complete[table]
            complete[clock] = complete.get(clock, 0) + 1
            if complete[clock] == len(self._pieces[table]):
                del complete[clock]
                self._norms.note(table, clock)
        elif clock == self._applied[table][piece] + 1:
            heapq.heappush(self._ready, _Job(clock, table, piece))

    def _is_complete(self, table: int, clock: int, piece: int) -> bool:
        entry = self._clocks[table].get(clock)
        if entry is None:
            return False
        return entry.nothing + len(entry.parts[piece]) == self._hosts

    # Clipping

    def measure(self) -> list[tuple[int, float]]:
        """The block's part of the norm, of each clock of which all tables are here."""
        if self._norms is None:
            return []
        return [
            (clock, sum(self._squares(table, clock) for table in tables))
            for clock, tables in self._norms.complete()
        ]

    def _squares(self, table: int, clock: int) -> float:
        total = 0.0
        for piece, applier in enumerate(self._appliers[table]):
            updates, reduction, _ = self._updates(table, clock, piece)
            if updates:
                total += applier.squares(updates, reduction)
        return total

    def hear(self, host: int, clock: int, total: float) -> Clipping | None:
        """A host's part of the norm; the last one makes all tables of the clock due."""
        if self._norms is None:
            raise ParameterServerError("a norm, but clip_gradients is not set")
        whole = self._norms.hear(host, clock, total)
        if whole is None:
            return None
        clipping = Clipping(whole**0.5, self._scheme.hyper.clip_gradients)
        for table in self._norms.tables:
            for piece in range(len(self._pieces[table])):
                heapq.heappush(self._ready, _Job(clock, table, piece, -1, clipping))
        return clipping

    # Applying

    def work(self) -> Applied:
        """Apply the most urgent piece that is due."""
        job = heapq.heappop(self._ready)
        if job.source >= 0:
            return self._work_alone(job)
        updates, reduction, share = self._updates(job.table, job.clock, job.piece)
        if share is not None:
            self._apply(job, updates, reduction, share)
        self._applied[job.table][job.piece] = job.clock
        self._forget(job.table, job.clock, job.piece)
        if self._norms is None or self._scheme.rule_of(job.table) is None:
            self._look_again(job.table, job.clock + 1, job.piece)
        return Applied(job.table, job.clock, -1, job.piece, share is not None)

    def _look_again(self, table: int, clock: int, piece: int) -> None:
        if self._is_complete(table, clock, piece):
            heapq.heappush(self._ready, _Job(clock, table, piece))

    def _work_alone(self, job: _Job) -> Applied:
        entry = self._clocks[job.table][job.clock]
        share = entry.shares[job.source]
        if share is not None:
            part = entry.parts[job.piece].pop(job.source)
            shared = Reduction("sum", [1.0])
            if self._scheme.reduce_of(job.table) == "mean":
                shared.scale = 1.0 / self._ranks
            self._apply(job, [part], shared, share)
        entry.used += 1
        if entry.used == self._ranks * len(self._pieces[job.table]):
            del self._clocks[job.table][job.clock]
        return Applied(job.table, job.clock, job.source, job.piece, share is not None)

    def _updates(
        self, table: int, clock: int, piece: int
    ) -> tuple[list[Array], Reduction, Share | None]:
        """All sources' parts in their order; none and None if nobody has an update."""
        entry = self._clocks[table][clock]
        given = [
            (s, share)
            for s in range(self._hosts)
            if (share := entry.shares[s]) is not None
        ]
        if not given:
            return [], Reduction("sum", [1.0]), None
        shares = [share for _, share in given]
        weights = [entry.weights[host] for host in range(self._hosts)]
        reduce = self._scheme.reduce_of(table)
        if reduce == "mean" and sum(weights) <= 0:
            # nobody counts: as if all counted alike, like `Reduction`
            weights = [1.0] * len(weights)
            shares = [share._replace(factor=1.0) for share in shares]
        factors = [share.factor for share in shares]
        reduction = Reduction.of_parts(reduce, factors, weights)
        return [entry.parts[piece][s] for s, _ in given], reduction, shares[0]

    def _apply(
        self, job: _Job, updates: Sequence[Array], reduction: Reduction, share: Share
    ) -> None:
        applier = self._appliers[job.table][job.piece]
        if applier.rule is None:  # updates are added, whatever the rate
            applier.apply(updates, reduction, self._hyper)
            return
        hyper = self._hyper_of(share)
        scale = normalization(hyper, job.clipping)
        applier.apply(updates, reduction, hyper, scale)

    def _hyper_of(self, share: Share) -> Hyper:
        if (self._hyper.rate, self._hyper.iteration) != (share.rate, share.iteration):
            self._hyper = replace(
                self._hyper, rate=share.rate, iteration=share.iteration
            )
        return self._hyper

    def _forget(self, table: int, clock: int, piece: int) -> None:
        """Give the parts back; the whole clock once all pieces are done."""
        self._clocks[table][clock].parts[piece] = {}
        if min(self._applied[table]) >= clock:
            del self._clocks[table][clock]
