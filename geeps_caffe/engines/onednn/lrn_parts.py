"""LRN of any kind, put together from other primitives.

The sum over a window is an average pooling. With s the scale, k + alpha mean(x x),
and r its square root, fourth root, or s itself, saved by forward:

    forward    r = root of (mean(x x) alpha + k),  y = x s ** -beta
    backward   d = dy s ** -beta,  t = d x / s,  dx = mean(t) x (-2 alpha beta) + d

What follows a product or a mean in these lines is done to it before it is written.

oneDNN raises to most powers element by element with the C library's `powf`, which takes
60 times as long as a division (17 of the 20 ms of AlexNet's norm1). So s ** -0.75, as
nearly all nets have it, is three divisions by the fourth root. (By logarithms would be
no slower, but oneDNN's are wrong by up to 4e-6.)
"""

from dataclasses import dataclass, field

from geeps_caffe.device.array import Shape
from geeps_caffe.engines.engine import Request
from geeps_caffe.engines.onednn.constants import (
    SECOND_SRC,
    Algorithm,
    Arg,
    Prop,
    post_op_src,
)
from geeps_caffe.engines.onednn.descriptors import (
    Md,
    PostOp,
    apply_function,
    combine,
)
from geeps_caffe.engines.onednn.layouts import View
from geeps_caffe.engines.onednn.recipe import Kit, Recipe, Uses

_MOST_DIVISIONS = 4
_MOST_ROOTS = 2


@dataclass(frozen=True)
class Scaling:
    """The numbers of an LRN, and how powers of its scale are made.

    The root r is saved: s is r ** (2 ** roots), and s ** beta is r ** `power`. Where
    that is no small whole number, r is s itself and `power` None.
    """

    alpha: float
    beta: float
    k: float

    @property
    def roots(self) -> int:
        """How many square roots are taken of the scale."""
        whole = (n for n in range(_MOST_ROOTS + 1) if self._power(n) is not None)
        return next(whole, 0)

    @property
    def power(self) -> int | None:
        """How many divisions by the root divide by s ** beta."""
        return self._power(self.roots)

    def _power(self, roots: int) -> int | None:
        power = self.beta * 2**roots
        return int(power) if power in range(1, _MOST_DIVISIONS + 1) else None


@dataclass(frozen=True)
class Summed:
    """What is summed over: how a pooling sees the arrays, and its windows."""

    md: Md
    kernel: Shape
    edge: Shape  # how far a window reaches to the left, and to the right
    #: Whether a mean may be combined with an array (wrong in oneDNN 3.2 without blocks)
    combines: bool


def make_of_parts(
    kit: Kit, request: Request, scaling: Scaling, summed: Summed, md: Md, seen: View
) -> Recipe | None:
    """The recipe of either pass; None where oneDNN has no quick part.

    Args:
        kit: what primitives are made with.
        request: a forward or backward pass of an LRN.
        scaling: its numbers.
        summed: its windows.
        md: how all arrays lie, for element-wise work.
        seen: through what ports are seen as `md`.
    """
    parts = _Parts(Recipe(kit), md, summed)
    names = ["bottom0", "top0"]
    if request.direction == "forward":
        _forward(parts, scaling, request.training)
    else:
        names = ["bottom0", "top0.diff", "bottom0.diff"]
        _backward(parts, scaling)
    for name in names:
        parts.recipe.port(name, md, seen)
    return None if parts.missing else parts.recipe


def _forward(parts: "_Parts", scaling: Scaling, training: bool) -> None:
    recipe, md = parts.recipe, parts.md
    root = recipe.save(md) if training else recipe.temporary(md)
    parts.function("top0", "bottom0", Algorithm.SQUARE)
    then = _Then().function(Algorithm.LINEAR, scaling.alpha, scaling.k)
    for _ in range(scaling.roots):
        then = then.function(Algorithm.SQUARE_ROOT)
    parts.mean(root, "top0", then)
    _scaled(parts, scaling, "top0", "bottom0", root)


def _backward(parts: "_Parts", scaling: Scaling) -> None:
    recipe, md = parts.recipe, parts.md
    recipe.saved_port("saved0", md.nbytes)
    direct, ratio = recipe.temporary(md), recipe.temporary(md)
    _scaled(parts, scaling, direct, "top0.diff", "saved0")
    then = _Then().repeat(Algorithm.DIVIDE, "saved0", md, 2**scaling.roots)
    parts.product(ratio, direct, "bottom0", then)
    factor = -2.0 * scaling.alpha * scaling.beta
    if parts.summed.combines:
        then = _Then().repeat(Algorithm.MULTIPLY, "bottom0", md)
        then = then.function(Algorithm.LINEAR, factor, 0.0)
        parts.mean("bottom0.diff", ratio, then.repeat(Algorithm.ADD, direct, md))
        return
    mean = recipe.temporary(md)
    parts.mean(mean, ratio, _Then().function(Algorithm.LINEAR, factor, 0.0))
    then = _Then().repeat(Algorithm.ADD, direct, md)
    parts.product("bottom0.diff", mean, "bottom0", then)


def _scaled(
    parts: "_Parts", scaling: Scaling, target: str, source: str, root: str
) -> None:
    """`source` s ** -beta."""
    power = scaling.power
    if power is None:
        parts.function(target, root, Algorithm.POWER, 1.0, -scaling.beta)
        parts.product(target, target, source)
        return
    then = _Then().repeat(Algorithm.DIVIDE, root, parts.md, power - 1)
    parts.pair(Algorithm.DIVIDE, target, source, root, then)


@dataclass
class _Then:
    """What is done to a primitive's result, and the buffers that this takes."""

    ops: list[PostOp] = field(default_factory=list)
    uses: Uses = field(default_factory=dict)

    def function(
        self, algorithm: Algorithm, alpha: float = 0.0, beta: float = 0.0
    ) -> "_Then":
        """An element-wise function of it."""
        self.ops.append(apply_function(algorithm, alpha, beta))
        return self

    def repeat(
        self, algorithm: Algorithm, buffer: str, md: Md, times: int = 1
    ) -> "_Then":
        """Combined with another array, so many times."""
        for _ in range(times):
            self.uses[post_op_src(len(self.ops))] = (buffer, md)
            self.ops.append(combine(algorithm, md))
        return self


@dataclass
class _Parts:
    """Adds primitives to a recipe; `missing` where oneDNN has no quick one."""

    recipe: Recipe
    md: Md
    summed: Summed
    missing: bool = False

    def function(
        self,
        target: str,
        source: str,
        algorithm: Algorithm,
        alpha: float = 0.0,
        beta: float = 0.0,
    ) -> None:
        """An element-wise function."""
        values = (Prop.FORWARD_INFERENCE, algorithm, self.md, self.md, alpha, beta)
        arrays: Uses = {Arg.SRC: (source, self.md), Arg.DST: (target, self.md)}
        self._add("eltwise_forward", values, arrays)

    def product(self, target: str, a: str, b: str, then: _Then | None = None) -> None:
        """Of two arrays."""
        self.pair(Algorithm.MULTIPLY, target, a, b, then)

    def pair(
        self,
        algorithm: Algorithm,
        target: str,
        a: str,
        b: str,
        then: _Then | None = None,
    ) -> None:
        """A function of two arrays."""
        md = self.md
        arrays: Uses = {Arg.SRC: (a, md), SECOND_SRC: (b, md), Arg.DST: (target, md)}
        self._add("binary", (algorithm, md, md, md), arrays, then)

    def mean(self, target: str, source: str, then: _Then) -> None:
        """The mean over the window around each element; outside is zero."""
        md, kernel, edge = self.summed.md, self.summed.kernel, self.summed.edge
        algorithm = Algorithm.POOLING_AVERAGE_WITH_PADDING
        values = (Prop.FORWARD_INFERENCE, algorithm, md, md)
        arrays: Uses = {Arg.SRC: (source, md), Arg.DST: (target, md)}
        geometry = ((1, 1), kernel, (0, 0), edge, edge)
        self._add("pooling_forward", (*values, *geometry), arrays, then)

    def _add(
        self,
        kind: str,
        values: tuple[object, ...],
        arrays: Uses,
        then: _Then | None = None,
    ) -> None:
        api, then = self.recipe.kit.api, then or _Then()
        desc = api.primitive_desc(kind, *values, attributes=api.attributes(then.ops))
        if desc is None or desc.slow:
            self.missing = True
            return
        self.recipe.run(desc, arrays | then.uses)
