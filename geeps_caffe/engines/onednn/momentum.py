"""The update rule of SGD with momentum and L2 decay: two primitives a piece.

    history = momentum history + rate (scale grad + decay weights)
    weights = weights - history

Pieces are small enough that the second primitive finds the history in the cache, so
each array goes through memory once, and large enough that the threads rarely meet.
"""

from geeps_caffe.device.array import Array, allocate
from geeps_caffe.engines.engine import Call
from geeps_caffe.engines.onednn.api import Api
from geeps_caffe.engines.onednn.constants import (
    SCALE_OF,
    SECOND_SRC,
    Algorithm,
    Arg,
    post_op_src,
)
from geeps_caffe.engines.onednn.descriptors import (
    Handle,
    Md,
    PrimitiveDesc,
    add_old,
    combine,
)

PIECE = 1 << 19  # elements; with three arrays 6 MB
#: Fewer elements are not worth to wake a thread for: 30 us or more where it sleeps.
LEAST = 1 << 13


class Momentum:
    """Updates flat float32 arrays of one size in place; see `Engine.bind_momentum`."""

    def __init__(
        self,
        api: Api,
        weights: Array,
        grad: Array,
        history: Array,
        momentum: float,
    ) -> None:
        self._api = api
        self._one = api.plain((1,))
        self._numbers = [_number() for _ in range(3)]
        self._handles = [api.memory(self._one, number) for number in self._numbers]
        self._calls: list[Call] = []
        pairs: dict[int, tuple[Md, PrimitiveDesc, PrimitiveDesc]] = {}
        for start in range(0, weights.size, PIECE):
            part = slice(start, start + PIECE)
            n = weights[part].size
            if n not in pairs:
                pairs[n] = self._pair(n, momentum)
            self._add(*pairs[n], weights[part], grad[part], history[part])

    def __call__(self, rate: float, decay: float, scale: float) -> None:
        """Do one update."""
        for number, value in zip(self._numbers, (rate, decay, scale), strict=True):
            number[0] = value
        for call in self._calls:
            call()

    def _pair(self, n: int, momentum: float) -> tuple[Md, PrimitiveDesc, PrimitiveDesc]:
        md = self._api.plain((n,))
        attributes = self._api.attributes(
            [combine(Algorithm.MULTIPLY, self._one), add_old(momentum)],
            scales=(Arg.SRC, SECOND_SRC),
        )
        kinds = ("binary", Algorithm.ADD, md, md, md)
        first = self._api.primitive_desc(*kinds, attributes=attributes)
        second = self._api.primitive_desc("binary", Algorithm.SUBTRACT, md, md, md)
        assert first is not None and second is not None, "binary primitives exist"
        assert not first.scratch and not second.scratch
        return md, first, second

    def _add(
        self,
        md: Md,
        first: PrimitiveDesc,
        second: PrimitiveDesc,
        weights: Array,
        grad: Array,
        history: Array,
    ) -> None:
        w, g, h = (self._api.memory(md, a) for a in (weights, grad, history))
        rate, decay, scale = self._handles
        arrays: dict[Arg | int, Handle] = {Arg.SRC: g, SECOND_SRC: w, Arg.DST: h}
        arrays |= {
            post_op_src(0): rate,
            SCALE_OF + SECOND_SRC: decay,
            SCALE_OF + Arg.SRC: scale,
        }
        self._calls.append(self._api.bind(first, arrays))
        arrays = {Arg.SRC: w, SECOND_SRC: h, Arg.DST: w}
        self._calls.append(self._api.bind(second, arrays))


def _number() -> Array:
    return allocate(4).view("float32")
