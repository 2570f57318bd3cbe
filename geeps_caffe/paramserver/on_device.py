"""Tables that live on a device: their memory, and rules that its kernels apply."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np

from geeps_caffe.device.array import Array
from geeps_caffe.device.device import Device
from geeps_caffe.engines.engine import RuleCall, Updates
from geeps_caffe.errors import UsageError
from geeps_caffe.paramserver.reduction import Reduction
from geeps_caffe.paramserver.scheme import Scheme
from geeps_caffe.paramserver.table import Segment, parts_between
from geeps_caffe.solvers import Hyper

#: What a rule's kernel is given after scale, decay and penalty, in its order.
NUMBERS: Mapping[str, Callable[[Hyper], tuple[float, ...]]] = {
    "SGD": lambda h: (h.rate, h.momentum),
    "Nesterov": lambda h: (h.rate, h.momentum, 1 + h.momentum),
    "AdaGrad": lambda h: (h.rate, h.delta),
    "RMSProp": lambda h: (h.rate, h.rms_decay, 1 - h.rms_decay, h.delta),
    "AdaDelta": lambda h: (h.rate, h.momentum, 1 - h.momentum, h.delta),
    "Adam": lambda h: (
        h.rate * _correction(h),
        *(h.momentum, 1 - h.momentum, h.momentum2, 1 - h.momentum2),
        h.delta,
    ),
}


def _correction(hyper: Hyper) -> float:
    t = hyper.iteration + 1
    return sqrt(1 - hyper.momentum2**t) / (1 - hyper.momentum**t)


class DeviceTables:
    """Makes the arrays of a store, and what applies updates to them."""

    def __init__(self, device: Device, updates: Updates) -> None:
        self._device, self._updates = device, updates

    def allocate(self, nbytes: int) -> Array:
        """Zeroed bytes for all tables."""
        return self._device.allocate(nbytes)

    def write(self, target: Array, values: Array) -> None:
        """Overwrite an array by one of the host."""
        self._device.write(target, values)

    def applier(
        self, scheme: Scheme, table: int, weights: Array, history: Sequence[Array]
    ) -> "DeviceApplier":
        """What advances a table.

        Raises:
            UsageError: its dtype is none for kernels.
        """
        dtype = scheme.tables[table].dtype
        if np.dtype(dtype) != np.float32:
            raise UsageError(
                f"a GPU trains in float32, not in {dtype}; use -engine reference"
            )
        return DeviceApplier(self._updates, scheme, table, weights, history)


@dataclass
class _Piece:
    """One segment, and its bound rule."""

    where: slice
    part: Segment
    call: RuleCall | None = None


class DeviceApplier:
    """See `applier.Applier`; of one update at a time, which keeps its place."""

    def __init__(
        self,
        updates: Updates,
        scheme: Scheme,
        table: int,
        weights: Array,
        history: Sequence[Array],
    ) -> None:
        self.rule = scheme.rule_of(table)
        self._updates, self._weights, self._history = updates, weights, history
        parts = parts_between(scheme.tables[table], 0, weights.size)
        self._pieces = [_Piece(slice(p.offset, p.stop), p) for p in parts]

    def squares(self, updates: Sequence[Array], reduction: Reduction) -> float:
        """The sum of squares of what is learned."""
        del reduction
        (update,) = updates
        return sum(
            self._updates.sum_of_squares(update[piece.where])
            for piece in self._pieces
            if piece.part.lr_mult != 0
        )

    def apply(
        self,
        updates: Sequence[Array],
        reduction: Reduction,
        hyper: Hyper,
        scale: float = 1.0,
    ) -> None:
        """Launch the rule over each segment."""
        del reduction
        (update,) = updates
        for piece in self._pieces:
            if self.rule is None:
                grad, weights = update[piece.where], self._weights[piece.where]
                self._updates.bind_add(grad, weights)()
                continue
            if piece.call is None:
                piece.call = self._bind(piece, update)
            local = hyper.local(piece.part.lr_mult, piece.part.decay_mult)
            penalty = float(hyper.regularization_type == "L1")
            numbers = NUMBERS[self.rule.type_name](local)
            piece.call((scale, local.weight_decay, penalty, *numbers))

    def _bind(self, piece: _Piece, update: Array) -> RuleCall:
        """What is not learned has a gradient of zeros, whatever is there."""
        assert self.rule is not None
        where = piece.where
        grad = update[where]
        if piece.part.lr_mult == 0:
            grad = np.zeros_like(grad)
        slots = [slot[where] for slot in self._history]
        return self._updates.bind_rule(
            self.rule.type_name, self._weights[where], grad, slots
        )
