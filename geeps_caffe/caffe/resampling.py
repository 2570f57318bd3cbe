"""Images in another size, by the rules of scikit-image and SciPy that pycaffe uses.

Both are separable, so they are a matrix for each axis.
"""

from functools import reduce

import numpy as np

from geeps_caffe.device.array import Array


def resample(image: Array, size: tuple[int, int], order: int) -> Array:
    """An image (H, W, C) as scikit-image's `resize` has it, outside being 0.

    What shrinks is smoothed before, as since version 0.19. `order` is 0 for the
    nearest pixel, 1 for bilinear. The result stays within the image's range.
    """
    matrices = [
        _centred(old, new, order) @ _smoothing(old, old / new)
        for old, new in zip(image.shape[:2], size, strict=True)
    ]
    found: Array = np.clip(_along_axes(image, matrices), image.min(), image.max())
    return found


def zoom(image: Array, size: tuple[int, int], order: int) -> Array:
    """An image (H, W, C) as SciPy's `zoom` has it: corners stay on corners."""
    pairs = zip(image.shape[:2], size, strict=True)
    return _along_axes(image, [_corners(n, m, order) for n, m in pairs])


def _along_axes(image: Array, matrices: list[Array]) -> Array:
    rows, columns = matrices
    found: Array = np.einsum("ab,cd,bde->ace", rows, columns, image, optimize=True)
    return found


def _centred(old: int, new: int, order: int) -> Array:
    """(new, old): pixels are areas, whose centres are sampled."""
    return _weights(old, (np.arange(new) + 0.5) * (old / new) - 0.5, order)


def _corners(old: int, new: int, order: int) -> Array:
    """(new, old): pixels are points, the first and last of which stay."""
    step = (old - 1) / (new - 1) if new > 1 else 0.0
    return _weights(old, np.arange(new) * step, order)


def _weights(old: int, places: Array, order: int) -> Array:
    """How much each pixel is in the value at each place."""
    if order == 0:
        places = np.floor(places + 0.5)
    distance = np.abs(places[:, None] - np.arange(old))
    weights: Array = np.maximum(1 - distance, 0)
    return weights


def _smoothing(length: int, factor: float) -> Array:
    """(length, length): a Gaussian for shrinking by a factor, cut at 4 deviations."""
    deviation = (factor - 1) / 2
    if deviation <= 0:
        return np.eye(length)
    radius = int(4 * deviation + 0.5)
    steps = np.arange(-radius, radius + 1)
    kernel = np.exp(-0.5 * (steps / deviation) ** 2)
    kernel /= kernel.sum()
    bands = (
        weight * np.eye(length, k=int(step))
        for step, weight in zip(steps, kernel, strict=True)
    )
    return reduce(np.add, bands)
