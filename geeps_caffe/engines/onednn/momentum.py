"""The update rule of SGD with momentum and L2 decay: two or three primitives a piece.

    history = momentum history + rate (scale grad + decay weights)
    weights = weights - history

Of large arrays the first line is one primitive. It rounds a product and a sum at once
where `solvers.sgd` rounds both; where weights must be the same bits, it is two.

Pieces are small enough that a primitive finds in the cache what the one before has
written, so each array goes through memory once, and large enough that the threads
rarely meet.
"""

from collections.abc import Sequence

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
    PrimitiveDesc,
    add_old,
    combine,
)

PIECE = 1 << 19  # elements; with three arrays 6 MB
#: Four arrays are in use at once, 2 MB. (400,000 elements on two cores, each with
#: 1.25 MB of cache: 0.42 ms at the median, 0.60 in one piece.)
EXACT_PIECE = 1 << 17
#: Fewer elements are not worth to wake a thread for: 30 us or more where it sleeps.
LEAST = 1 << 14


class Momentum:
    """Updates flat float32 arrays of one size in place; see `Engine.bind_momentum`."""

    def __init__(
        self,
        api: Api,
        weights: Array,
        grad: Array,
        history: Array,
        momentum: float,
        *,
        exact: bool,
    ) -> None:
        self._api = api
        self._numbers = [_number() for _ in range(3)]
        self._calls: list[Call] = []
        made: dict[int, _Piece] = {}
        kind = _ExactPiece if exact else _Piece
        size = EXACT_PIECE if exact else PIECE
        for start in range(0, weights.size, size):
            part = slice(start, start + size)
            n = weights[part].size
            if n not in made:
                made[n] = kind(api, n, momentum, self._numbers)
            self._calls += made[n].bind(weights[part], grad[part], history[part])

    def __call__(self, rate: float, decay: float, scale: float) -> None:
        """Do one update."""
        for number, value in zip(self._numbers, (rate, decay, scale), strict=True):
            number[0] = value
        for call in self._calls:
            call()


class _Piece:
    """The primitives for pieces of n elements."""

    def __init__(
        self, api: Api, n: int, momentum: float, numbers: Sequence[Array]
    ) -> None:
        self.api, self.md, self.one = api, api.plain((n,)), api.plain((1,))
        self._numbers = [api.memory(self.one, number) for number in numbers]
        self._subtract = self.primitive(Algorithm.SUBTRACT, None)
        self.prepare(momentum)

    def prepare(self, momentum: float) -> None:
        """Make what advances the history."""
        ops = [combine(Algorithm.MULTIPLY, self.one), add_old(momentum)]
        scales = (Arg.SRC, SECOND_SRC)
        self._add = self.primitive(
            Algorithm.ADD, self.api.attributes(ops, scales=scales)
        )

    def bind(self, weights: Array, grad: Array, history: Array) -> list[Call]:
        """The calls that update some arrays."""
        w, g, h = (self.api.memory(self.md, a) for a in (weights, grad, history))
        last = {Arg.SRC: w, SECOND_SRC: h, Arg.DST: w}
        return [*self.advance(w, g, h), self.api.bind(self._subtract, last)]

    def advance(self, w: Handle, g: Handle, h: Handle) -> list[Call]:
        """The calls that advance the history."""
        return [self.api.bind(self._add, self.step_into(w, g, h))]

    def step_into(
        self, w: Handle, g: Handle, target: Handle
    ) -> dict[Arg | int, Handle]:
        """The arguments of rate (scale grad + decay weights)."""
        rate, decay, scale = self._numbers
        return {
            Arg.SRC: g,
            SECOND_SRC: w,
            Arg.DST: target,
            post_op_src(0): rate,
            SCALE_OF + SECOND_SRC: decay,
            SCALE_OF + Arg.SRC: scale,
        }

    def primitive(
        self, algorithm: Algorithm, attributes: Handle | None
    ) -> PrimitiveDesc:
        """A binary primitive over whole pieces."""
        md = self.md
        desc = self.api.primitive_desc(
            "binary", algorithm, md, md, md, attributes=attributes
        )
        assert desc is not None and not desc.scratch, "binary primitives exist"
        return desc


class _ExactPiece(_Piece):
    """The same with each product and sum rounded."""

    def prepare(self, momentum: float) -> None:
        """Make the step, and what adds it to the history."""
        ops, api = [combine(Algorithm.MULTIPLY, self.one)], self.api
        scales = (Arg.SRC, SECOND_SRC)
        self._step = self.primitive(Algorithm.ADD, api.attributes(ops, scales=scales))
        self._add = self.primitive(Algorithm.ADD, api.attributes(scales=(Arg.SRC,)))
        number = _number()
        number[0] = momentum
        self._momentum = api.memory(self.one, number)
        self._work = api.memory(self.md, allocate(self.md.nbytes))

    def advance(self, w: Handle, g: Handle, h: Handle) -> list[Call]:
        """The step, and the sum."""
        add = {
            Arg.SRC: h,
            SECOND_SRC: self._work,
            Arg.DST: h,
            SCALE_OF + Arg.SRC: self._momentum,
        }
        step = self.step_into(w, g, self._work)
        return [self.api.bind(self._step, step), self.api.bind(self._add, add)]


def _number() -> Array:
    return allocate(4).view("float32")
