"""Caffe's BatchNorm: normalization without scale and shift, and running sums.

Forward saves 1 / sqrt(variance + eps) by channel and, unless stored statistics are
used, a copy of the normalized values: layers after it may overwrite the top. In
backward oneDNN is given that copy as if it were a bottom of mean 0 and variance 1,
and the saved number as its scale.
"""

from collections.abc import Mapping
from functools import partial

import numpy as np

from geeps_caffe.device.array import Array, aligned, allocate, count
from geeps_caffe.engines.engine import Request
from geeps_caffe.engines.onednn.constants import Arg, Normalization, Prop
from geeps_caffe.engines.onednn.descriptors import Md, PrimitiveDesc
from geeps_caffe.engines.onednn.layouts import view
from geeps_caffe.engines.onednn.recipe import HostFunction, Kit, Recipe, Uses
from geeps_caffe.engines.operations import BatchNorm

_MEAN, _VARIANCE = "mean", "variance"


def make_batch_norm(kit: Kit, request: Request) -> Recipe | None:
    """The recipe of either pass; both lie as the bottom does."""
    operation = request.operation
    assert isinstance(operation, BatchNorm)
    if not 2 <= len(request.shapes["bottom0"]) <= 5:
        return None
    md = kit.as_given(request, "bottom0")
    scale = Normalization.SCALE if request.direction == "backward" else 0
    flags = scale | (Normalization.GLOBAL_STATS if operation.global_stats else 0)
    forward = kit.api.primitive_desc(
        "batch_normalization_forward",
        Prop.FORWARD_TRAINING,
        md,
        md,
        float(operation.eps),
        int(flags),
    )
    if forward is None or forward.slow:
        return None
    if request.direction == "forward":
        return _forward(kit, request, operation, forward, md)
    return _backward(kit, operation, forward, md, int(flags))


def _forward(
    kit: Kit, request: Request, operation: BatchNorm, desc: PrimitiveDesc, md: Md
) -> Recipe | None:
    recipe = Recipe(kit)
    channels = md.dims[1]
    row = kit.api.plain((channels,))
    for name in ("bottom0", "top0"):
        recipe.port(name, md, view(md.dims))
    for i, extents in enumerate(((channels,), (channels,), (1,))):
        recipe.port(f"param{i}", kit.api.plain(extents), view(extents))
    recipe.own |= dict.fromkeys((_MEAN, _VARIANCE), partial(vector, channels))
    uses: Uses = {
        Arg.SRC: ("bottom0", md),
        Arg.DST: ("top0", md),
        Arg.MEAN: (_MEAN, row),
        Arg.VARIANCE: (_VARIANCE, row),
    }
    if operation.global_stats:
        recipe.host(use_stored(_MEAN, _VARIANCE))
        recipe.run(desc, uses)
    else:
        recipe.run(desc, uses)
        values = count(md.dims) // channels
        recipe.host(update_stored(operation, values, _MEAN, _VARIANCE))
    if request.training:
        saved = recipe.save(row, row.dims, "float32")
        recipe.host(_save_scale(operation, saved))
        if not operation.global_stats:
            copy = recipe.save(md)
            if not recipe.copy(("top0", md), (copy, md)):
                return None
    return recipe


def _backward(
    kit: Kit, operation: BatchNorm, hint: PrimitiveDesc, md: Md, flags: int
) -> Recipe | None:
    desc = kit.api.primitive_desc(
        "batch_normalization_backward",
        Prop.BACKWARD,
        md,
        md,
        md,
        float(operation.eps),
        flags,
        hint=hint,
    )
    if desc is None or desc.slow:
        return None
    recipe = Recipe(kit)
    row = kit.api.plain((md.dims[1],))
    recipe.constants[_MEAN] = vector(md.dims[1])
    recipe.constants[_VARIANCE] = vector(md.dims[1], 1 - operation.eps)
    for name in ("top0.diff", "bottom0.diff"):
        recipe.port(name, md, view(md.dims))
    recipe.saved_port("saved0", row.nbytes)
    values = "top0.diff"  # not used for the gradient where statistics are stored
    if not operation.global_stats:
        values = "saved1"
        recipe.saved_port(values, md.nbytes)
    recipe.run(
        desc,
        {
            Arg.SRC: (values, md),
            Arg.DIFF_DST: ("top0.diff", md),
            Arg.DIFF_SRC: ("bottom0.diff", md),
            Arg.MEAN: (_MEAN, row),
            Arg.VARIANCE: (_VARIANCE, row),
            Arg.SCALE: ("saved0", row),
            Arg.DIFF_SCALE: (recipe.temporary(row), row),
        },
    )
    return recipe


def vector(channels: int, value: float = 0.0) -> Array:
    """One number a channel, and the same behind them: whole registers are read."""
    made = allocate(aligned(4 * channels)).view(np.float32)
    made[...] = value
    return made[:channels]


def use_stored(mean: str, variance: str) -> HostFunction:
    """Fill these buffers with the stored sums over their factor, 0 if that is 0."""

    def use(arrays: Mapping[str, Array]) -> None:
        factor = float(arrays["param2"].reshape(-1)[0])
        scale = 0.0 if factor == 0.0 else 1.0 / factor
        np.multiply(arrays["param0"].reshape(-1), scale, out=arrays[mean])
        np.multiply(arrays["param1"].reshape(-1), scale, out=arrays[variance])

    return use


def update_stored(
    operation: BatchNorm, values: int, mean: str, variance: str
) -> HostFunction:
    """Add the batch's statistics, of `values` elements a channel, to the sums."""
    unbiased = values / (values - 1) if values > 1 else 1.0
    fraction = operation.fraction

    def update(arrays: Mapping[str, Array]) -> None:
        news = (arrays[mean], arrays[variance] * unbiased, 1.0)
        for i, new in enumerate(news):
            param = arrays[f"param{i}"].reshape(-1)
            param *= fraction
            param += new

    return update


def _save_scale(operation: BatchNorm, saved: str) -> HostFunction:
    def save(arrays: Mapping[str, Array]) -> None:
        np.sqrt(arrays[_VARIANCE] + operation.eps, out=arrays[saved])
        np.reciprocal(arrays[saved], out=arrays[saved])

    return save
