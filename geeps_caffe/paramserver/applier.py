"""Applies the updates of one table's clock to its weights and history, in place."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from geeps_caffe.device.array import Array
from geeps_caffe.paramserver.reduction import Reduction
from geeps_caffe.paramserver.scheme import Scheme
from geeps_caffe.paramserver.table import parts_in
from geeps_caffe.solvers import Hyper, Rule, Updater, sum_of_squares
from geeps_caffe.solvers.updater import CHUNK_BYTES


@dataclass(frozen=True)
class _Piece:
    """What is handled at a time: a chunk of one segment."""

    where: slice
    weights: Array
    slots: tuple[Array, ...]
    lr_mult: float
    decay_mult: float


class Applier:
    """One table (or a block of its rows) with its rule.

    Pieces are cut once; applying an update allocates no array.
    """

    def __init__(
        self,
        scheme: Scheme,
        table: int,
        weights: Array,
        history: Sequence[Array],
        block: tuple[int, int] | None = None,
    ) -> None:
        self.reduce = scheme.reduce_of(table)
        shared = scheme.tables[table]
        rule = scheme.rule_of(table)
        self._updater = None if rule is None else Updater(rule, shared.dtype)
        chunk = CHUNK_BYTES // np.dtype(shared.dtype).itemsize
        self._sum, self._spare = np.empty((2, chunk), shared.dtype)
        self._pieces = [
            _Piece(
                (where := slice(start, min(start + chunk, part.stop))),
                weights[where],
                tuple(slot[where] for slot in history),
                part.lr_mult,
                part.decay_mult,
            )
            for part in parts_in(shared, block or (0, shared.rows))
            for start in range(part.offset, part.stop, chunk)
        ]

    @property
    def rule(self) -> Rule | None:
        """None where updates are added."""
        return None if self._updater is None else self._updater.rule

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
            updates: one array a worker, of the whole table's elements; kept.
            reduction: how they become one.
            hyper: of the whole solver; each segment takes its multipliers.
            scale: from clipping and iter_size; of no effect on added updates.
        """
        if self._updater is None:
            self._add(updates, reduction)
            return
        scale *= reduction.scale
        for piece in self._pieces:
            grad = self._add_up(piece, updates, reduction)
            local = hyper.local(piece.lr_mult, piece.decay_mult)
            self._updater.step_chunk(piece.weights, grad, piece.slots, local, scale)

    def _add(self, updates: Sequence[Array], reduction: Reduction) -> None:
        for piece in self._pieces:
            total = self._add_up(piece, updates, reduction)
            if reduction.scale != 1.0:
                total = np.multiply(total, reduction.scale, out=self._sum[: total.size])
            np.add(piece.weights, total, out=piece.weights)

    def _add_up(
        self, piece: _Piece, updates: Sequence[Array], reduction: Reduction
    ) -> Array:
        n = piece.weights.size
        parts = [update[piece.where] for update in updates]
        return reduction.add_up(parts, self._sum[:n], self._spare[:n])
