"""What max and average pooling share: Caffe's edges.

Caffe rounds the number of windows up, so the last one may hang over the right edge;
oneDNN is told of that much padding there. A window that lies wholly outside has no
meaning in oneDNN, and is left to the reference.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from geeps_caffe.device.array import Array
from geeps_caffe.engines.engine import Layout, Request
from geeps_caffe.engines.onednn.constants import (
    MAX_SPATIAL,
    SECOND_SRC,
    Algorithm,
    Arg,
    Prop,
    Query,
)
from geeps_caffe.engines.onednn.descriptors import Md, PrimitiveDesc
from geeps_caffe.engines.onednn.layouts import View, images
from geeps_caffe.engines.onednn.recipe import Kit, Recipe, Uses, port_shapes
from geeps_caffe.engines.operations import AveragePooling, MaxPooling, Window

_BLOCKS = (16, 8)  # channels


@dataclass(frozen=True)
class Axis:
    """One spatial axis of a pooling."""

    extent: int
    windows: int
    kernel: int
    stride: int
    pad: int

    @property
    def overhang(self) -> int:
        """How far the last window reaches beyond the right edge of the image."""
        last = (self.windows - 1) * self.stride + self.kernel
        return max(0, last - self.extent - self.pad)

    @property
    def touches(self) -> bool:
        """Whether each window has at least one element of the image."""
        last = (self.windows - 1) * self.stride - self.pad
        return self.pad < self.kernel and last < self.extent


@dataclass(frozen=True)
class Pooling:
    """What oneDNN is told."""

    algorithm: Algorithm
    axes: tuple[Axis, ...]
    #: By what tops are multiplied after it, one number per window; None: by nothing.
    factors: Array | None = None

    @property
    def geometry(self) -> tuple[Window, ...]:
        """Strides, kernel, dilations, padding left and right."""
        axes = self.axes
        return (
            tuple(a.stride for a in axes),
            tuple(a.kernel for a in axes),
            tuple(0 for _ in axes),
            tuple(a.pad for a in axes),
            tuple(a.overhang for a in axes),
        )


def pooled_axes(request: Request) -> tuple[Axis, ...]:
    """The spatial axes of a pooling."""
    operation = request.operation
    assert isinstance(operation, MaxPooling | AveragePooling)
    bottom, top = _views(request)
    windows = (operation.kernel, operation.stride, operation.pad)
    extents = (bottom.dims[2:], top.dims[2:])
    return tuple(Axis(*values) for values in zip(*extents, *windows, strict=True))


def _views(request: Request) -> tuple[View, View]:
    """Bottom and top as images."""
    operation = request.operation
    assert isinstance(operation, MaxPooling | AveragePooling)
    bottom, top = port_shapes(request)
    axes = len(operation.kernel)
    return images(bottom, axes), images(top, axes)


def make_pooling(kit: Kit, request: Request, what: Pooling) -> Recipe | None:
    """The recipe of either pass; the bottom's layout is kept if it can be."""
    spatial = len(what.axes)
    if not 1 <= spatial <= MAX_SPATIAL or not all(a.touches for a in what.axes):
        return None
    bottom, _ = _views(request)
    plain = kit.api.plain(bottom.dims)
    given = kit.given(request, "bottom0", bottom) or plain
    sources = [*_blocked(kit, bottom)] if given.same(plain) else [given]
    for source in (*sources, plain):
        recipe = _from_layout(kit, request, what, source)
        if recipe is not None:
            return recipe
    return None


def _blocked(kit: Kit, bottom: View) -> Iterator[Md]:
    """Other layouts for a plain bottom whose channels fill them.

    oneDNN's code for plain arrays takes a window's elements one by one. (AlexNet's
    pool1 on AVX2: 39 ms; in blocks, with the reorder to them, 3.)
    """
    axes = "cde"[: len(bottom.dims) - 2]
    for channels in _BLOCKS:
        if bottom.dims[1] % channels == 0:
            layout = Layout(f"aB{axes}{channels}b", 0)
            yield kit.layouts.own(layout, bottom.dims)


def _from_layout(
    kit: Kit, request: Request, what: Pooling, source: Md
) -> Recipe | None:
    """The recipe for a bottom that lies as `source`; both passes choose the same."""
    training = request.training or request.direction == "backward"
    prop = Prop.FORWARD_TRAINING if training else Prop.FORWARD_INFERENCE
    target = kit.api.any(_views(request)[1].dims)
    desc = kit.api.primitive_desc(
        "pooling_forward", prop, what.algorithm, source, target, *what.geometry
    )
    if desc is None or desc.slow:
        return None
    make = _forward if request.direction == "forward" else _backward
    return make(kit, request, what, desc)


def _forward(
    kit: Kit, request: Request, what: Pooling, desc: PrimitiveDesc
) -> Recipe | None:
    recipe = Recipe(kit)
    uses: Uses = {
        Arg.SRC: ("bottom0", desc.md(Query.SRC)),
        Arg.DST: ("top0", desc.md(Query.DST)),
    }
    _name_ports(recipe, request, uses)
    workspace = desc.md(Query.WORKSPACE)
    if workspace.ndim:
        uses[Arg.WORKSPACE] = (recipe.save(workspace), workspace)
    recipe.run(desc, uses)
    top = uses[Arg.DST]
    return recipe if _multiply(recipe, what.factors, top, top) else None


def _backward(
    kit: Kit, request: Request, what: Pooling, hint: PrimitiveDesc
) -> Recipe | None:
    desc = kit.api.primitive_desc(
        "pooling_backward",
        what.algorithm,
        hint.md(Query.SRC),
        hint.md(Query.DST),
        *what.geometry,
        hint=hint,
    )
    if desc is None or desc.slow:
        return None
    recipe = Recipe(kit)
    uses: Uses = {
        Arg.DIFF_DST: ("top0.diff", desc.md(Query.DIFF_DST)),
        Arg.DIFF_SRC: ("bottom0.diff", desc.md(Query.DIFF_SRC)),
    }
    _name_ports(recipe, request, uses)
    if what.factors is not None:
        name, md = uses[Arg.DIFF_DST]
        uses[Arg.DIFF_DST] = (recipe.temporary(md), md)
        if not _multiply(recipe, what.factors, (name, md), uses[Arg.DIFF_DST]):
            return None
    workspace = hint.md(Query.WORKSPACE)
    if workspace.ndim:
        recipe.saved_port("saved0", workspace.nbytes)
        uses[Arg.WORKSPACE] = ("saved0", workspace)
    recipe.run(desc, uses)
    return recipe


def _name_ports(recipe: Recipe, request: Request, uses: Uses) -> None:
    bottom, top = _views(request)
    for name, md in uses.values():
        recipe.port(name, md, bottom if name.startswith("bottom") else top)


def _multiply(
    recipe: Recipe,
    factors: Array | None,
    source: tuple[str, Md],
    target: tuple[str, Md],
) -> bool:
    """Add a product with one factor per window; False where oneDNN has none."""
    if factors is None:
        return True
    api = recipe.kit.api
    md = api.plain((1, 1, *factors.shape))
    desc = api.primitive_desc("binary", Algorithm.MULTIPLY, source[1], md, target[1])
    if desc is None or desc.slow:
        return False
    recipe.constants["factors"] = factors
    recipe.run(desc, {Arg.SRC: source, SECOND_SRC: ("factors", md), Arg.DST: target})
    return True
