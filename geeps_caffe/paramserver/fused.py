"""SGD by an engine: one pass over a table's weights, gradient and history."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from geeps_caffe.device.array import Array
from geeps_caffe.engines.engine import MomentumCall
from geeps_caffe.paramserver.table import Segment
from geeps_caffe.solvers import Hyper, Updater


class BindMomentum(Protocol):
    """`Engine.bind_momentum`."""

    def __call__(
        self,
        weights: Array,
        grad: Array,
        history: Array,
        momentum: float,
        *,
        exact: bool,
    ) -> MomentumCall | None:
        """The bound update, or None where the engine has none."""
        ...


@dataclass(frozen=True)
class _Part:
    """One segment: its arrays, and the engine's call where there is one."""

    segment: Segment
    weights: Array
    grad: Array
    history: Array
    call: MomentumCall | None


class FusedSgd:
    """Updates a table's segments by calls of an engine, bound at first use.

    They are bound anew when the gradient lies elsewhere or the momentum changes.
    Segments that the engine declines are left to `updater`. `start` is where the span
    of `weights` begins in the table. `exact`: to the same bits as `updater`.
    """

    def __init__(
        self,
        segments: Sequence[Segment],
        start: int,
        weights: Array,
        history: Array,
        bind: BindMomentum,
        updater: Updater,
        *,
        exact: bool,
    ) -> None:
        self._segments, self._start, self._bind = segments, start, bind
        self._weights, self._history, self._updater = weights, history, updater
        self._exact = exact
        self._bound: tuple[int, float] | None = None  # address and momentum
        self._parts: list[_Part] = []

    def apply(self, grad: Array, hyper: Hyper, scale: float) -> bool:
        """Do one update; False where it has to be done without the engine."""
        if hyper.weight_decay and hyper.regularization_type != "L2":
            return False
        wanted = (grad.ctypes.data, hyper.momentum)
        if self._bound != wanted:
            self._bound, self._parts = wanted, self._bind_all(grad, hyper.momentum)
        for part in self._parts:
            local = hyper.local(part.segment.lr_mult, part.segment.decay_mult)
            if part.call is not None:
                part.call(local.rate, local.weight_decay, scale)
            else:
                arrays = (part.weights, part.grad, [part.history])
                self._updater.step(*arrays, local, scale)
        return True

    def _bind_all(self, grad: Array, momentum: float) -> list[_Part]:
        parts = []
        for segment in self._segments:
            where = slice(segment.offset - self._start, segment.stop - self._start)
            weights, history = self._weights[where], self._history[where]
            own = grad[where] if segment.lr_mult else np.zeros_like(weights)
            call = self._bind(weights, own, history, momentum, exact=self._exact)
            parts.append(_Part(segment, weights, own, history, call))
        return parts
