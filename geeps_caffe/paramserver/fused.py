"""SGD by an engine: one pass over a table's weights, gradient and history."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from geeps_caffe.device.array import Array
from geeps_caffe.engines.engine import MomentumCall
from geeps_caffe.paramserver.table import Segment
from geeps_caffe.solvers import Hyper


class BindMomentum(Protocol):
    """`Engine.bind_momentum`."""

    def __call__(
        self, weights: Array, grad: Array, history: Array, momentum: float
    ) -> MomentumCall | None:
        """The bound update, or None where the engine has none."""
        ...


class FusedSgd:
    """Updates a table's segments by calls of an engine, bound at first use.

    They are bound anew when the gradient lies elsewhere or the momentum changes.
    `start` is where the span of `weights` begins in the table.
    """

    def __init__(
        self,
        parts: Sequence[Segment],
        start: int,
        weights: Array,
        history: Array,
        bind: BindMomentum,
    ) -> None:
        self._parts, self._start, self._bind = parts, start, bind
        self._weights, self._history = weights, history
        self._bound: tuple[int, float] | None = None  # address and momentum
        self._calls: list[MomentumCall] | None = None

    def apply(self, grad: Array, hyper: Hyper, scale: float) -> bool:
        """Do one update; False where it has to be done without the engine."""
        if hyper.weight_decay and hyper.regularization_type != "L2":
            return False
        wanted = (grad.ctypes.data, hyper.momentum)
        if self._bound != wanted:
            self._bound, self._calls = wanted, self._bind_all(grad, hyper.momentum)
        if self._calls is None:
            return False
        for part, call in zip(self._parts, self._calls, strict=True):
            decay = hyper.weight_decay * part.decay_mult
            call(hyper.rate * part.lr_mult, decay, scale)
        return True

    def _bind_all(self, grad: Array, momentum: float) -> list[MomentumCall] | None:
        calls = []
        for part in self._parts:
            where = slice(part.offset - self._start, part.stop - self._start)
            weights, history = self._weights[where], self._history[where]
            own = grad[where] if part.lr_mult else np.zeros_like(weights)
            call = self._bind(weights, own, history, momentum)
            if call is None:
                return None
            calls.append(call)
        return calls
