"""The bottom's gradient of a convolution of few channels, its kernel's columns folded.

    diff of bottom[y, x] = sum over i, j of weights[i, j] top.diff[y - i, x - j]

Direct code makes few channels at a time, which fill no vectors, and along x multiplies
with what lies outside of the top. Here the columns j of the kernel are channels too:

    wide[y, x, j] = sum over i of weights[i, j] top.diff[y - i, x]
    diff of bottom[y, x] = sum over j of wide[y, x - j, j]

The first line is the gradient of a convolution with a kernel one column wide, whose
bottom is as wide as the top; the second is a few sums in memory.
"""

from collections.abc import Mapping
from functools import partial

import numpy as np

from geeps_caffe.device.array import Array
from geeps_caffe.engines.engine import Call, plain_layout
from geeps_caffe.engines.onednn.constants import Arg, Query
from geeps_caffe.engines.onednn.descriptors import Md, PrimitiveDesc
from geeps_caffe.engines.onednn.layouts import view
from geeps_caffe.engines.onednn.recipe import HostBinding, Recipe
from geeps_caffe.engines.onednn.weighted import Maker, Weighted

_WORTH = 1.5  # times fewer products, padding counted; the sums take some of the gain


def fold_pays(what: Weighted, vector: int) -> bool:
    """Whether so many products fall away.

    Args:
        what: with channels last.
        vector: numbers that are computed at a time.
    """
    if not (_are_images(what) and _steps_by_one(what)):
        return False
    _, channels, _, columns = what.weights.dims
    direct = what.bottom.dims[3] * columns * _rounded(channels, vector)
    folded = what.top.dims[3] * _rounded(columns * channels, vector)
    return direct >= _WORTH * folded


def _are_images(what: Weighted) -> bool:
    """Whether there are rows and columns, and channels in no groups."""
    return len(what.bottom.dims) == len(what.weights.dims) == 4


def _steps_by_one(what: Weighted) -> bool:
    strides, dilates, before, after = what.geometry
    return set(strides) == {1} and set(dilates) == {0} and before == after


def _rounded(number: int, block: int) -> int:
    return -(-number // block) * block


def fold_bottom(recipe: Recipe, what: Weighted, table: Md | None) -> bool:
    """Add the steps that make it; False where oneDNN can't.

    Args:
        recipe: of the pass.
        what: the convolution.
        table: how the weights lie; None: not fixed.
    """
    kit, api = recipe.kit, recipe.kit.api
    tall = _one_column(what)
    make = Maker(kit, tall)
    hint = make.forward(make.weights())
    desc = hint and make.backward_data(make.weights(), make.top(), hint)
    if desc is None:
        return False
    weights = _fold_weights(recipe, what, table, desc)
    if weights is None:
        return False
    top, bottom = desc.md(Query.DIFF_DST), api.channels_last(what.bottom.logical)
    recipe.port("top0.diff", top, what.top)
    recipe.port("bottom0.diff", bottom, what.bottom)
    wide = desc.md(Query.DIFF_SRC)
    buffer = recipe.temporary(wide)
    recipe.run(
        desc,
        {
            Arg.DIFF_DST: ("top0.diff", top),
            Arg.WEIGHTS: weights,
            Arg.DIFF_SRC: (buffer, wide),
        },
    )
    return _add_columns(recipe, what, (buffer, wide), bottom)


def _one_column(what: Weighted) -> Weighted:
    """The convolution whose bottom has the kernel's columns as channels."""
    outputs, channels, rows, columns = what.weights.dims
    records, _, height, _ = what.bottom.dims
    strides, dilates, (pad, _), _ = what.geometry
    return Weighted(
        what.kind,
        what.algorithm,
        (strides, dilates, (pad, 0), (pad, 0)),
        view((records, columns * channels, height, what.top.dims[3])),
        what.top,
        view((outputs, columns * channels, rows, 1)),
        None,
        channels_last=True,
    )


def _fold_weights(
    recipe: Recipe, what: Weighted, table: Md | None, desc: PrimitiveDesc
) -> tuple[str, Md] | None:
    """Bring the weights into the folded order, and then into blocks."""
    kit, api = recipe.kit, recipe.kit.api
    outputs, channels, rows, columns = dims = what.weights.dims
    table = table or kit.layouts.find(plain_layout(dims), what.weights)
    assert table is not None, "plain arrays have all views"
    step = channels * rows
    ordered = api.strided(dims, (columns * step, rows, 1, step))
    plain = api.plain((outputs, columns * channels, rows, 1))
    blocked = desc.md(Query.WEIGHTS)
    recipe.port("param0", table, what.weights)
    first, second = recipe.temporary(plain), recipe.temporary(blocked)
    made = recipe.copy(("param0", table), (first, ordered))
    if made and recipe.copy((first, plain), (second, blocked)):
        return second, blocked
    return None


def _add_columns(
    recipe: Recipe, what: Weighted, source: tuple[str, Md], bottom: Md
) -> bool:
    """Add the steps that sum over the kernel's columns."""
    api = recipe.kit.api
    name, wide = source
    records, channels, height, width = what.bottom.dims
    add = recipe.copy
    for column in range(what.weights.dims[3]):
        shift = column - what.geometry[2][1]  # from the top's x to the bottom's
        start, stop = max(0, -shift), min(what.top.dims[3], width - shift)
        if start >= stop:
            continue
        extents = (records, channels, height, stop - start)
        part = api.part(wide, extents, (0, column * channels, 0, start))
        target = api.part(bottom, extents, (0, 0, 0, start + shift))
        if part is None or target is None:
            return False
        if not add((name, part), ("bottom0.diff", target)):
            return False
        if add == recipe.copy:
            add = recipe.add
            recipe.bound_host(_clear_others(what, start + shift, stop + shift))
    return True


def _clear_others(what: Weighted, start: int, stop: int) -> HostBinding:
    """What clears the bottom's diff but for columns of the image from start to stop."""
    records, channels, height, width = what.bottom.dims

    def bind(buffers: Mapping[str, Array]) -> Call:
        flat = buffers["bottom0.diff"].reshape(-1).view(np.float32)
        image = flat.reshape(records, height, width, channels)
        return partial(_clear, [image[:, :, :start], image[:, :, stop:]])

    return bind


def _clear(arrays: list[Array]) -> None:
    for array in arrays:
        array.fill(0)
