"""Max and average pooling with Caffe's edges.

Caffe rounds the number of windows up, so the last one may hang over the right edge;
oneDNN is told of that much padding there. A window that lies wholly outside has no
meaning in oneDNN, and is left to the reference.
"""

from dataclasses import dataclass

from geeps_caffe.engines.engine import Request
from geeps_caffe.engines.onednn.api import PrimitiveDesc
from geeps_caffe.engines.onednn.constants import Algorithm, Arg, Prop, Query
from geeps_caffe.engines.onednn.convolution import (
    MAX_SPATIAL,
    images,
    port_shapes,
)
from geeps_caffe.engines.onednn.layouts import View
from geeps_caffe.engines.onednn.recipe import Kit, Recipe, Uses
from geeps_caffe.engines.operations import AveragePooling, MaxPooling, Window


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


def make_max_pooling(kit: Kit, request: Request) -> Recipe | None:
    """The recipe of either pass; None where the mask is wanted as a top."""
    if "top1" in request.shapes or "top1.diff" in request.shapes:
        return None
    return _make(kit, request, Pooling(Algorithm.POOLING_MAX, _axes(request)))


def make_average_pooling(kit: Kit, request: Request) -> Recipe | None:
    """The recipe of either pass; None where no rule of oneDNN's is Caffe's."""
    axes = _axes(request)
    algorithm = average_rule(axes)
    return None if algorithm is None else _make(kit, request, Pooling(algorithm, axes))


def average_rule(axes: tuple[Axis, ...]) -> Algorithm | None:
    """The rule whose divisor is the window's size clipped to the padded image.

    Without padding the clipped window is what lies in the image; without a window
    that reaches beyond the right padding it is the whole kernel.
    """
    if all(a.overhang <= a.pad for a in axes):
        return Algorithm.POOLING_AVERAGE_WITH_PADDING
    if all(a.pad == 0 for a in axes):
        return Algorithm.POOLING_AVERAGE_WITHOUT_PADDING
    return None


def _axes(request: Request) -> tuple[Axis, ...]:
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


def _make(kit: Kit, request: Request, what: Pooling) -> Recipe | None:
    spatial = len(what.axes)
    if not 1 <= spatial <= MAX_SPATIAL or not all(a.touches for a in what.axes):
        return None
    bottom, top = _views(request)
    source = kit.given(request, "bottom0", bottom) or kit.api.plain(bottom.dims)
    training = request.training or request.direction == "backward"
    prop = Prop.FORWARD_TRAINING if training else Prop.FORWARD_INFERENCE
    target = kit.api.any(top.dims)
    forward = kit.api.primitive_desc(
        "pooling_forward", prop, what.algorithm, source, target, *what.geometry
    )
    if forward is None or forward.slow:
        return None
    if request.direction == "forward":
        return _forward(kit, request, forward)
    return _backward(kit, request, what, forward)


def _forward(kit: Kit, request: Request, desc: PrimitiveDesc) -> Recipe:
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
    return recipe


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
