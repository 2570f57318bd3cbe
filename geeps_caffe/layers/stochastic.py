"""Stochastic pooling (Zeiler and Fergus, 2013): a pixel is drawn by its value.

In testing the expectation of such draws is taken. Caffe has it on GPUs alone, without
padding; a window that reaches beyond the image meets zeros there.
"""

from geeps_caffe.device.array import Array, ArrayModule, count
from geeps_caffe.engines.reference.windows import Windows, fold, pad, view


def _values(xp: ArrayModule, windows: Windows, x: Array) -> Array:
    """(N, C, out ..., places in the window)."""
    laid = view(xp, windows, pad(xp, windows, x))
    flat = laid.reshape(*x.shape[:2], count(windows.kernel), *windows.out)
    moved: Array = xp.moveaxis(flat, 2, -1)
    return moved


def _fold(xp: ArrayModule, windows: Windows, values: Array) -> Array:
    """The image for gradients (N, C, out ..., places)."""
    shape = (*values.shape[:2], *windows.kernel, *windows.out)
    return fold(xp, windows, xp.moveaxis(values, -1, 2).reshape(shape))


def draw(
    xp: ArrayModule, windows: Windows, x: Array, uniform: Array
) -> tuple[Array, Array]:
    """The pixels drawn, and their places in the windows (int32).

    The place is the first at which the sum of pixels so far reaches `uniform` (one
    number in [0, 1) for each top) times the sum of all.
    """
    values = _values(xp, windows, x)
    sums = values.cumsum(axis=-1)
    reached = sums >= uniform[..., None] * sums[..., -1:]
    place = reached.argmax(axis=-1)
    drawn = xp.take_along_axis(values, place[..., None], axis=-1)[..., 0]
    return drawn, place.astype(xp.int32)


def draw_gradient(xp: ArrayModule, windows: Windows, place: Array, dy: Array) -> Array:
    """Each top diff goes to the pixel drawn."""
    places = xp.arange(count(windows.kernel), dtype=xp.int32)
    return _fold(xp, windows, (places == place[..., None]) * dy[..., None])


def expect(xp: ArrayModule, windows: Windows, x: Array) -> Array:
    """The sum of squares over the sum; 0 where the sum is not positive."""
    values = _values(xp, windows, x)
    total = values.sum(axis=-1)
    squares = (values * values).sum(axis=-1)
    mean: Array = xp.where(total > 0, squares / xp.where(total > 0, total, 1), 0)
    return mean


def expect_gradient(xp: ArrayModule, windows: Windows, x: Array, dy: Array) -> Array:
    """Of `expect`; Caffe has none."""
    values = _values(xp, windows, x)
    total = values.sum(axis=-1)
    share = xp.where(total > 0, dy / xp.where(total > 0, total, 1), 0)
    mean = expect(xp, windows, x)
    return _fold(xp, windows, (2 * values - mean[..., None]) * share[..., None])
