"""LRN across channels for any window and power, put together from other primitives.

The sum over neighbouring channels is an average pooling: pixels play the channels,
for which the pooling is vectorized, and channels the rows of an image one pixel wide.
Arrays are plain. With s the scale, k + alpha * (mean of squares):

    forward    y = x s ** -beta
    backward   d = dy s ** -beta,  dx = d - 2 alpha beta x (mean of d x / s)
"""

from dataclasses import dataclass
from typing import Any

from geeps_caffe.device.array import count
from geeps_caffe.engines.engine import Request
from geeps_caffe.engines.onednn.constants import (
    MULTIPLE_SRC,
    SECOND_SRC,
    Algorithm,
    Arg,
    Prop,
)
from geeps_caffe.engines.onednn.descriptors import Md
from geeps_caffe.engines.onednn.layouts import View
from geeps_caffe.engines.onednn.recipe import Kit, Recipe, port_shapes
from geeps_caffe.engines.operations import LRN


def make_lrn_of_parts(kit: Kit, request: Request) -> Recipe | None:
    """The recipe of either pass; None for a window without a middle."""
    operation = request.operation
    assert isinstance(operation, LRN)
    shape, _ = port_shapes(request)
    if operation.size % 2 == 0 or len(shape) < 2:
        return None
    images, channels, pixels = shape[0], shape[1], count(shape[2:])
    row = View(shape, (count(shape),))
    columns = kit.api.strided(
        (images, pixels, channels, 1), (channels * pixels, 1, pixels, pixels)
    )
    parts = _Parts(Recipe(kit), kit.api.plain(row.dims), columns)
    if request.direction == "forward":
        _forward(parts, operation, request.training)
    else:
        _backward(parts, operation)
    backward = ("bottom0", "top0.diff", "bottom0.diff")
    for name in ("bottom0", "top0") if request.direction == "forward" else backward:
        parts.recipe.port(name, parts.md, row)
    return None if parts.missing else parts.recipe


def _forward(parts: "_Parts", operation: LRN, training: bool) -> None:
    recipe = parts.recipe
    scale = recipe.save(parts.md) if training else recipe.temporary(parts.md)
    parts.each("top0", Algorithm.SQUARE, "bottom0")
    parts.mean(scale, "top0", operation.size)
    parts.each(scale, Algorithm.LINEAR, scale, operation.alpha, operation.k)
    parts.each("top0", Algorithm.POWER, scale, 1.0, -operation.beta)
    parts.pair("top0", Algorithm.MULTIPLY, "top0", "bottom0")


def _backward(parts: "_Parts", operation: LRN) -> None:
    recipe, scale = parts.recipe, "saved0"
    recipe.saved_port(scale, parts.md.nbytes)
    direct, ratio, mean = (recipe.temporary(parts.md) for _ in range(3))
    parts.each(direct, Algorithm.POWER, scale, 1.0, -operation.beta)
    parts.pair(direct, Algorithm.MULTIPLY, direct, "top0.diff")
    parts.pair(ratio, Algorithm.MULTIPLY, direct, "bottom0")
    parts.pair(ratio, Algorithm.DIVIDE, ratio, scale)
    parts.mean(mean, ratio, operation.size)
    parts.pair(mean, Algorithm.MULTIPLY, mean, "bottom0")
    factor = -2.0 * operation.alpha * operation.beta
    parts.weighted_sum("bottom0.diff", {direct: 1.0, mean: factor})


@dataclass
class _Parts:
    """Adds primitives to a recipe; `missing` where oneDNN lacks one."""

    recipe: Recipe
    md: Md  # any of the arrays, as one row
    columns: Md  # the same memory, for the mean over channels
    missing: bool = False

    def each(
        self, target: str, algorithm: Algorithm, source: str, a: float = 0, b: float = 0
    ) -> None:
        """An element-wise function."""
        arrays = {Arg.SRC: source, Arg.DST: target}
        numbers = (float(a), float(b))
        prop, md = Prop.FORWARD_INFERENCE, self.md
        self._add(arrays, md, "eltwise_forward", prop, algorithm, md, md, *numbers)

    def pair(self, target: str, algorithm: Algorithm, a: str, b: str) -> None:
        """A function of two arrays."""
        arrays = {Arg.SRC: a, SECOND_SRC: b, Arg.DST: target}
        self._add(arrays, self.md, "binary", algorithm, self.md, self.md, self.md)

    def mean(self, target: str, source: str, size: int) -> None:
        """The mean over `size` channels around each; outside is zero."""
        one, kernel, edge = (1, 1), (size, 1), (size // 2, 0)
        self._add(
            {Arg.SRC: source, Arg.DST: target},
            self.columns,
            "pooling_forward",
            Prop.FORWARD_INFERENCE,
            Algorithm.POOLING_AVERAGE_WITH_PADDING,
            self.columns,
            self.columns,
            one,
            kernel,
            (0, 0),
            edge,
            edge,
        )

    def weighted_sum(self, target: str, factors: dict[str, float]) -> None:
        """A sum of arrays, each times its factor."""
        arrays: dict[Arg | int, str] = {Arg.DST: target}
        arrays |= {MULTIPLE_SRC + i: name for i, name in enumerate(factors)}
        mds = [self.md] * len(factors)
        self._add(
            arrays, self.md, "sum", self.md, len(mds), list(factors.values()), mds
        )

    def _add(self, arrays: dict[Any, str], md: Md, kind: str, *values: object) -> None:
        desc = self.recipe.kit.api.primitive_desc(kind, *values)
        if desc is None or desc.slow:
            self.missing = True
            return
        self.recipe.run(desc, {arg: (name, md) for arg, name in arrays.items()})
