"""Applies the updates of one table's clock to its weights and history, in place."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from geeps_caffe.device.array import Array
from geeps_caffe.paramserver.fused import BindMomentum, FusedSgd
from geeps_caffe.paramserver.reduction import Reduction
from geeps_caffe.paramserver.scheme import Scheme
from geeps_caffe.paramserver.table import Segment, parts_between
from geeps_caffe.paramserver.workspace import Scratch, Workspace
from geeps_caffe.solvers import Hyper, sum_of_squares


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
        updater = self._work.scratch[0].updater
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
        scratch = self._work.scratch[0]
        total = sum(
            sum_of_squares(self._add_up(piece, updates, reduction, scratch))
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
        scale *= reduction.scale
        fused = self._fused if len(updates) == 1 else None
        if fused is not None and fused.apply(updates[0], hyper, scale):
            return
        pieces, scratch = iter(self._pieces), self._work.scratch

        def do(hand: int) -> None:
            own = scratch[hand]
            for piece in pieces:  # each is taken once, by whoever is free
                total = self._add_up(piece, updates, reduction, own)
                if own.updater is None:
                    _add(piece, total, reduction.scale, own)
                else:
                    local = hyper.local(piece.part.lr_mult, piece.part.decay_mult)
                    own.updater.step_chunk(
                        piece.weights, total, piece.slots, local, scale
                    )

        self._work.hands.share(do)

    def _add_up(
        self,
        piece: _Piece,
        updates: Sequence[Array],
        reduction: Reduction,
        scratch: Scratch,
    ) -> Array:
        n = piece.weights.size
        if self.rule is not None and piece.part.lr_mult == 0:
            return scratch.zeros[:n]
        parts = [update[piece.where] for update in updates]
        return reduction.add_up(parts, scratch.sum[:n], scratch.spare[:n])


def _add(piece: _Piece, total: Array, scale: float, scratch: Scratch) -> None:
    """An update without a rule."""
    if scale != 1.0:
        total = np.multiply(total, scale, out=scratch.sum[: total.size])
    np.add(piece.weights, total, out=piece.weights)


def _chunks(part: Segment, start: int, chunk: int) -> list[slice]:
    """A segment in chunks, counted from the element `start` of its table."""
    return [
        slice(first - start, min(first + chunk, part.stop) - start)
        for first in range(part.offset, part.stop, chunk)
    ]
