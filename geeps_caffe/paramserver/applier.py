"""Applies the updates of one table's clock to its weights and history, in place."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from geeps_caffe.device.array import Array
from geeps_caffe.paramserver.fused import BindMomentum, FusedSgd
from geeps_caffe.paramserver.reduction import Reduction
from geeps_caffe.paramserver.scheme import Scheme
from geeps_caffe.paramserver.table import Segment, parts_between
from geeps_caffe.solvers import Hyper, Updater, sum_of_squares
from geeps_caffe.solvers.updater import CHUNK_BYTES

ADD_CHUNK_BYTES = 1 << 20  # where updates are only added: fewer arrays are in use


class Workspace:
    """Work arrays of one thread, for tables of one dtype and rule."""

    def __init__(self, scheme: Scheme, table: int) -> None:
        dtype = np.dtype(scheme.tables[table].dtype)
        rule = scheme.rule_of(table)
        nbytes = ADD_CHUNK_BYTES if rule is None else CHUNK_BYTES
        self.chunk = nbytes // dtype.itemsize
        self.updater = None if rule is None else Updater(rule, dtype)
        self.sum, self.spare = np.empty((2, self.chunk), dtype)
        self.zeros = np.zeros(self.chunk, dtype)


class Workspaces:
    """One workspace for all tables of a dtype and rule."""

    def __init__(self, scheme: Scheme) -> None:
        self._scheme = scheme
        self._made: dict[tuple[str, str | None], Workspace] = {}

    def of(self, table: int) -> Workspace:
        """That of a table."""
        shared, rule = self._scheme.tables[table], self._scheme.rule_of(table)
        key = shared.dtype, None if rule is None else rule.type_name
        if key not in self._made:
            self._made[key] = Workspace(self._scheme, table)
        return self._made[key]


@dataclass(frozen=True)
class _Piece:
    """What is handled at a time: a chunk of one segment."""

    where: slice
    weights: Array
    slots: tuple[Array, ...]
    part: Segment


class Applier:
    """One table, or a span of its elements, with its rule.

    Pieces are cut once; applying an update allocates no array. A segment whose
    `lr_mult` is 0 is not learned: its gradient counts as zeros, whatever is there.

    Args:
        scheme: all tables.
        table: the place of this one.
        weights: of the span, as the arrays of `history` and those given later.
        history: the rule's arrays.
        start: the first element of the span.
        work: to be shared with others of this thread; made if None.
        bind: an engine's way to do SGD faster, where there is one.
    """

    def __init__(
        self,
        scheme: Scheme,
        table: int,
        weights: Array,
        history: Sequence[Array],
        start: int = 0,
        work: Workspace | None = None,
        bind: BindMomentum | None = None,
    ) -> None:
        self.reduce = scheme.reduce_of(table)
        self.rule = scheme.rule_of(table)  # None where updates are added
        self._work = work or Workspace(scheme, table)
        parts = parts_between(scheme.tables[table], start, start + weights.size)
        self._fused = None
        updater = self._work.updater
        if bind is not None and updater is not None and updater.is_sgd:
            self._fused = FusedSgd(
                parts, start, weights, history[0], bind, updater, exact=scheme.exact
            )
        self._pieces = [
            _Piece(where, weights[where], tuple(s[where] for s in history), part)
            for part in parts
            for where in _chunks(part, start, self._work.chunk)
        ]

    def squares(self, updates: Sequence[Array], reduction: Reduction) -> float:
        """The sum of squares of the reduced update."""
        total = sum(
            sum_of_squares(self._add_up(piece, updates, reduction))
            for piece in self._pieces
        )
        return total * reduction.scale**2

    def apply(
        self,
        updates: Sequence[Array],
        reduction: Reduction,
        hyper: Hyper,
        scale: float = 1.0,
    ) -> None:
        """Advance the table by one clock.

        Args:
            updates: one array a worker, of all elements of the span; kept.
            reduction: how they become one.
            hyper: of the whole solver; each segment takes its multipliers.
            scale: from clipping and iter_size; of no effect on added updates.
        """
        updater = self._work.updater
        if updater is None:
            self._add(updates, reduction)
            return
        scale *= reduction.scale
        fused = self._fused if len(updates) == 1 else None
        if fused is not None and fused.apply(updates[0], hyper, scale):
            return
        for piece in self._pieces:
            grad = self._add_up(piece, updates, reduction)
            local = hyper.local(piece.part.lr_mult, piece.part.decay_mult)
            updater.step_chunk(piece.weights, grad, piece.slots, local, scale)

    def _add(self, updates: Sequence[Array], reduction: Reduction) -> None:
        work = self._work
        for piece in self._pieces:
            total = self._add_up(piece, updates, reduction)
            if reduction.scale != 1.0:
                total = np.multiply(total, reduction.scale, out=work.sum[: total.size])
            np.add(piece.weights, total, out=piece.weights)

    def _add_up(
        self, piece: _Piece, updates: Sequence[Array], reduction: Reduction
    ) -> Array:
        n, work = piece.weights.size, self._work
        if self.rule is not None and piece.part.lr_mult == 0:
            return work.zeros[:n]
        parts = [update[piece.where] for update in updates]
        return reduction.add_up(parts, work.sum[:n], work.spare[:n])


def _chunks(part: Segment, start: int, chunk: int) -> list[slice]:
    """A segment in chunks, counted from the element `start` of its table."""
    return [
        slice(first - start, min(first + chunk, part.stop) - start)
        for first in range(part.offset, part.stop, chunk)
    ]
