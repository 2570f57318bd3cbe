"""BatchNorm, Scale and perhaps ReLU as one primitive; and Scale alone.

The bottom stays as it is; forward saves mean, variance, and one bit a value of where
the top is above 0. Scale alone is a normalization by a mean of 0 and a variance of 1.
"""

from dataclasses import dataclass
from functools import partial

from geeps_caffe.device.array import count
from geeps_caffe.engines.engine import Request
from geeps_caffe.engines.onednn.batch_norm import update_stored, use_stored, vector
from geeps_caffe.engines.onednn.constants import Arg, Normalization, Prop, Query
from geeps_caffe.engines.onednn.descriptors import Md, PrimitiveDesc
from geeps_caffe.engines.onednn.layouts import view
from geeps_caffe.engines.onednn.recipe import Kit, Recipe, Uses
from geeps_caffe.engines.operations import (
    BatchNorm,
    Scale,
    ScaledBatchNorm,
    ScaleInPlace,
)

_MEAN, _VARIANCE = "mean", "variance"
_EPS = 2.0**-10  # of Scale alone; in padding the variance is 0, and 0 / 0 is no number


@dataclass(frozen=True)
class _What:
    """Either operation, as oneDNN is told of it."""

    norm: BatchNorm | None  # None: Scale alone
    scale: str  # ports of the params
    shift: str | None
    relu: bool = False
    copies: bool = False  # the bottom is saved, since the top may overwrite it

    @property
    def flags(self) -> int:
        """oneDNN's."""
        flags = Normalization.SCALE
        if self.shift:
            flags |= Normalization.SHIFT
        if self.relu:
            flags |= Normalization.RELU
        if self.norm is None or self.norm.global_stats:
            flags |= Normalization.GLOBAL_STATS
        return int(flags)

    @property
    def eps(self) -> float:
        """What is added to the variance."""
        return float(self.norm.eps) if self.norm else _EPS


def make_scaled_batch_norm(kit: Kit, request: Request) -> Recipe | None:
    """The recipe of either pass; both lie as the bottom does."""
    operation = request.operation
    assert isinstance(operation, ScaledBatchNorm)
    shift = "param4" if operation.bias else None
    return _make(kit, request, _What(operation.norm, "param3", shift, operation.relu))


def make_scale(kit: Kit, request: Request) -> Recipe | None:
    """The recipe of either pass; both lie as the bottom does."""
    operation = request.operation
    assert isinstance(operation, Scale)
    copies = isinstance(operation, ScaleInPlace)
    shift = "param1" if operation.bias else None
    return _make(kit, request, _What(None, "param0", shift, copies=copies))


def _make(kit: Kit, request: Request, what: _What) -> Recipe | None:
    if not 2 <= len(request.shapes["bottom0"]) <= 5:
        return None
    given = kit.as_given(request, "bottom0")
    # Not all blocks have fast code; layers that are merged have no other.
    for md in (given, kit.api.plain(given.dims)):
        made = _pass(kit, request, what, md)
        if made is not None:
            return made
    return None


def _pass(kit: Kit, request: Request, what: _What, md: Md) -> Recipe | None:
    """Either pass in one layout; None where one of both has no fast code."""
    training = request.training or request.direction == "backward"
    # Inference gives no statistics away.
    stored = what.norm is None or what.norm.global_stats
    prop = Prop.FORWARD_INFERENCE if stored and not training else Prop.FORWARD_TRAINING
    forward = kit.api.primitive_desc(
        "batch_normalization_forward", prop, md, md, what.eps, what.flags
    )
    if forward is None or forward.slow:
        return None
    if not training:
        return _forward(kit, request, what, forward, md)
    backward = kit.api.primitive_desc(
        "batch_normalization_backward",
        Prop.BACKWARD,
        md,
        md,
        md,
        what.eps,
        what.flags,
        hint=forward,
    )
    if backward is None or backward.slow:
        return None
    if request.direction == "forward":
        return _forward(kit, request, what, forward, md)
    return _backward(kit, request, what, backward, forward.md(Query.WORKSPACE), md)


def _forward(
    kit: Kit, request: Request, what: _What, desc: PrimitiveDesc, md: Md
) -> Recipe | None:
    recipe = Recipe(kit)
    for name in ("bottom0", "top0"):
        recipe.port(name, md, view(md.dims))
    channels = kit.api.plain((md.dims[1],))
    mean, variance = _statistics(recipe, request, what, channels)
    uses: Uses = {
        Arg.SRC: ("bottom0", md),
        Arg.DST: ("top0", md),
        Arg.MEAN: (mean, channels),
        Arg.VARIANCE: (variance, channels),
        Arg.SCALE: (what.scale, channels),
    }
    if what.shift:
        uses[Arg.SHIFT] = (what.shift, channels)
    for port in (what.scale, what.shift):
        if port:
            recipe.port(port, channels, view(request.shapes[port]))
    copies = what.copies and request.training
    if copies and not recipe.copy(("bottom0", md), (recipe.save(md), md)):
        return None
    workspace = desc.md(Query.WORKSPACE)
    if workspace.ndim:
        kept = recipe.save if request.training else recipe.temporary
        uses[Arg.WORKSPACE] = (kept(workspace), workspace)
    recipe.run(desc, uses)
    if what.norm and not what.norm.global_stats:
        values = count(md.dims) // md.dims[1]
        recipe.host(update_stored(what.norm, values, mean, variance))
    return recipe


def _statistics(
    recipe: Recipe, request: Request, what: _What, channels: Md
) -> tuple[str, str]:
    """Buffers of mean and variance; they are saved where backward needs them."""
    extent = channels.dims[0]
    if what.norm is None:
        return _constants(recipe, extent)
    for i, extents in enumerate(((extent,), (extent,), (1,))):
        recipe.port(f"param{i}", recipe.kit.api.plain(extents), view(extents))
    if request.training:
        names = tuple(recipe.save(channels, (extent,), "float32") for _ in range(2))
    else:
        names = (_MEAN, _VARIANCE)
        recipe.own |= dict.fromkeys(names, partial(vector, extent))
    if what.norm.global_stats:
        recipe.host(use_stored(*names))
    return names[0], names[1]


def _constants(recipe: Recipe, extent: int) -> tuple[str, str]:
    """The mean and variance of Scale alone."""
    variances = vector(extent, 1 - _EPS)
    recipe.constants |= {_MEAN: vector(extent), _VARIANCE: variances}
    return _MEAN, _VARIANCE


def _backward(
    kit: Kit, request: Request, what: _What, desc: PrimitiveDesc, workspace: Md, md: Md
) -> Recipe:
    recipe = Recipe(kit)
    channels = kit.api.plain((md.dims[1],))
    mean, variance = _saved_statistics(recipe, what, channels)
    bottom = "saved0" if what.copies else "bottom0"
    if what.copies:
        recipe.saved_port(bottom, md.nbytes)
    else:
        recipe.port(bottom, md, view(md.dims))
    recipe.port("top0.diff", md, view(md.dims))
    recipe.port(what.scale, channels, view(request.shapes[what.scale]))
    uses: Uses = {
        Arg.SRC: (bottom, md),
        Arg.DIFF_DST: ("top0.diff", md),
        Arg.DIFF_SRC: (_target(recipe, request, "bottom0", md), md),
        Arg.MEAN: (mean, channels),
        Arg.VARIANCE: (variance, channels),
        Arg.SCALE: (what.scale, channels),
        Arg.DIFF_SCALE: (_target(recipe, request, what.scale, channels), channels),
    }
    if what.shift:
        target = _target(recipe, request, what.shift, channels)
        uses[Arg.DIFF_SHIFT] = (target, channels)
    if workspace.ndim:
        recipe.saved_port("saved2", workspace.nbytes)
        uses[Arg.WORKSPACE] = ("saved2", workspace)
    recipe.run(desc, uses)
    return recipe


def _saved_statistics(recipe: Recipe, what: _What, channels: Md) -> tuple[str, str]:
    if what.norm is None:
        return _constants(recipe, channels.dims[0])
    recipe.saved_port("saved0", channels.nbytes)
    recipe.saved_port("saved1", channels.nbytes)
    return "saved0", "saved1"


def _target(recipe: Recipe, request: Request, port: str, md: Md) -> str:
    """Where a gradient goes: its port, or a temporary if nobody asks for it."""
    name = f"{port}.diff"
    if name not in request.shapes:
        return recipe.temporary(md)
    recipe.port(name, md, view(request.shapes[name]))
    return name
