"""LRN within channels, in the layout of the bottom.

With p the power of the scale, (1 + alpha mean(x x)) ** -beta, saved by forward:

    forward    p = mean(x x) alpha + 1 to the power -beta,  y = p x
    backward   d = p dy,  r = d x p ** (1 / beta),  dx = mean(r) x (-2 alpha beta) + d

What follows a product or a mean in these lines is done to it before it is written.
"""

from dataclasses import dataclass, field

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
from geeps_caffe.engines.onednn.layouts import view
from geeps_caffe.engines.onednn.recipe import Kit, Recipe, Uses
from geeps_caffe.engines.operations import LRNWithin


def make_lrn_within(kit: Kit, request: Request) -> Recipe | None:
    """The recipe of either pass; plain where channels do not fill their blocks."""
    operation = request.operation
    assert isinstance(operation, LRNWithin)
    shape = request.shapes["bottom0"]
    if len(shape) != 4 or operation.size % 2 == 0 or operation.beta <= 0:
        return None
    given, plain = kit.as_given(request, "bottom0"), kit.api.plain(shape)
    for md in (given, plain) if given.dims == given.padded_dims else (plain,):
        parts = _Parts(Recipe(kit), md, operation.size)
        if request.direction == "forward":
            _forward(parts, operation, request.training)
        else:
            _backward(parts, operation)
        if not parts.missing:
            return parts.recipe
    return None


def _forward(parts: "_Parts", operation: LRNWithin, training: bool) -> None:
    recipe, md = parts.recipe, parts.md
    for port in ("bottom0", "top0"):
        recipe.port(port, md, view(md.dims))
    power = recipe.save(md) if training else recipe.temporary(md)
    parts.function("top0", "bottom0", Algorithm.SQUARE)
    then = _Then().function(Algorithm.LINEAR, operation.alpha, 1.0)
    then = then.function(Algorithm.POWER, 1.0, -operation.beta)
    parts.mean(power, "top0", then)
    parts.product("top0", power, "bottom0")


def _backward(parts: "_Parts", operation: LRNWithin) -> None:
    recipe, md = parts.recipe, parts.md
    for port in ("bottom0", "top0.diff", "bottom0.diff"):
        recipe.port(port, md, view(md.dims))
    recipe.saved_port("saved0", md.nbytes)
    direct, ratio = recipe.temporary(md), recipe.temporary(md)
    parts.product(direct, "saved0", "top0.diff")
    parts.function(ratio, "saved0", Algorithm.POWER, 1.0, 1.0 / operation.beta)
    then = _Then().pair(Algorithm.MULTIPLY, "bottom0", md)
    parts.product(ratio, ratio, direct, then)
    factor = -2.0 * operation.alpha * operation.beta
    then = _Then() if parts.plain else _Then().pair(Algorithm.MULTIPLY, "bottom0", md)
    then = then.function(Algorithm.LINEAR, factor, 0.0)
    if not parts.plain:
        parts.mean("bottom0.diff", ratio, then.pair(Algorithm.ADD, direct, md))
        return
    mean = recipe.temporary(md)
    parts.mean(mean, ratio, then)
    then = _Then().pair(Algorithm.ADD, direct, md)
    parts.product("bottom0.diff", mean, "bottom0", then)


@dataclass
class _Then:
    """What is done to a primitive's result, and the buffers that this takes."""

    ops: list[PostOp] = field(default_factory=list)
    uses: Uses = field(default_factory=dict)

    def function(self, algorithm: Algorithm, alpha: float, beta: float) -> "_Then":
        """An element-wise function of it."""
        self.ops.append(apply_function(algorithm, alpha, beta))
        return self

    def pair(self, algorithm: Algorithm, buffer: str, md: Md) -> "_Then":
        """Combined with another array."""
        self.uses[post_op_src(len(self.ops))] = (buffer, md)
        self.ops.append(combine(algorithm, md))
        return self


@dataclass
class _Parts:
    """Adds primitives to a recipe; `missing` where oneDNN has no quick one."""

    recipe: Recipe
    md: Md
    size: int
    missing: bool = False

    @property
    def plain(self) -> bool:
        """Whether a mean can't be combined with an array (wrong in oneDNN 3.2)."""
        return not self.md.blocks

    def function(
        self,
        target: str,
        source: str,
        algorithm: Algorithm,
        alpha: float = 0.0,
        beta: float = 0.0,
    ) -> None:
        """An element-wise function."""
        values = (Prop.FORWARD_INFERENCE, algorithm, self.md, self.md)
        numbers = (float(alpha), float(beta))
        arrays: Uses = {Arg.SRC: (source, self.md), Arg.DST: (target, self.md)}
        self._add("eltwise_forward", (*values, *numbers), arrays)

    def product(self, target: str, a: str, b: str, then: _Then | None = None) -> None:
        """Of two arrays."""
        md = self.md
        arrays: Uses = {
            Arg.SRC: (a, md),
            SECOND_SRC: (b, md),
            Arg.DST: (target, md),
        }
        self._add("binary", (Algorithm.MULTIPLY, md, md, md), arrays, then)

    def mean(self, target: str, source: str, then: _Then) -> None:
        """The mean over the window around each pixel; outside is zero."""
        one, none = (1, 1), (0, 0)
        kernel, edge = (self.size,) * 2, (self.size // 2,) * 2
        algorithm = Algorithm.POOLING_AVERAGE_WITH_PADDING
        values = (Prop.FORWARD_INFERENCE, algorithm, self.md, self.md)
        arrays: Uses = {Arg.SRC: (source, self.md), Arg.DST: (target, self.md)}
        geometry = (one, kernel, none, edge, edge)
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
