"""Windows that slide over an image: padding, views of them, and sums back into them.

Arrays are (N, C, spatial axes ...). A view of all windows has the axes
(N, C, kernel axes ..., output axes ...) and costs no memory.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any, TypeAlias

from geeps_caffe.device.array import Array, ArrayModule, Shape
from geeps_caffe.engines.operations import Window

Pixels: TypeAlias = tuple[Any, ...]  # an index of an array's last axes


def images(x: Array, spatial_axes: int) -> Array:
    """`x` with all axes before the channels as one: (N, C, spatial axes ...)."""
    return x.reshape((-1, *x.shape[x.ndim - spatial_axes - 1 :]))


@dataclass(frozen=True)
class Windows:
    """Where the windows lie; one entry per spatial axis."""

    kernel: Window
    stride: Window
    pad: Window
    dilation: Window
    image: Shape
    out: Shape

    @property
    def padded(self) -> Shape:
        """The extents of the image with all that its windows reach."""
        last = [(o - 1) * s for o, s in zip(self.out, self.stride, strict=True)]
        spans = [
            d * (k - 1) + 1 for d, k in zip(self.dilation, self.kernel, strict=True)
        ]
        inner = [i + p for i, p in zip(self.image, self.pad, strict=True)]
        ends = zip(last, spans, inner, strict=True)
        return tuple(max(begin + span, end) for begin, span, end in ends)

    @property
    def inside(self) -> Pixels:
        """Where the image lies in the padded one."""
        edges = zip(self.image, self.pad, strict=True)
        return (..., *(slice(p, p + i) for i, p in edges))

    def positions(self) -> Iterator[tuple[tuple[int, ...], Pixels]]:
        """For each place in the kernel: it, and the padded pixels that it meets."""
        for place in product(*map(range, self.kernel)):
            starts = [d * k for d, k in zip(self.dilation, place, strict=True)]
            steps = zip(starts, self.stride, self.out, strict=True)
            yield place, (..., *(slice(b, b + s * (o - 1) + 1, s) for b, s, o in steps))


def pad(xp: ArrayModule, windows: Windows, x: Array, value: float = 0) -> Array:
    """`x` with `value` around it as far as windows reach; `x` where none does."""
    if windows.padded == windows.image:
        return x
    padded: Array = xp.full(x.shape[:2] + windows.padded, value, x.dtype)
    padded[windows.inside] = x
    return padded


def view(xp: ArrayModule, windows: Windows, padded: Array) -> Array:
    """All windows of a padded image, (N, C, kernel ..., out ...), without a copy."""
    outer, steps = padded.strides[:2], padded.strides[2:]
    inner = [s * d for s, d in zip(steps, windows.dilation, strict=True)]
    moves = [s * m for s, m in zip(steps, windows.stride, strict=True)]
    shape = (*padded.shape[:2], *windows.kernel, *windows.out)
    strides = (*outer, *inner, *moves)
    result: Array = xp.lib.stride_tricks.as_strided(padded, shape, strides)
    return result


def fold(xp: ArrayModule, windows: Windows, columns: Array) -> Array:
    """The image whose pixels are the sums of all window elements that meet them.

    `columns` is (N, C, kernel ..., out ...), the result (N, C, image ...).
    """
    padded = xp.zeros(columns.shape[:2] + windows.padded, columns.dtype)
    for place, pixels in windows.positions():
        element: Pixels = (slice(None), slice(None), *place)
        padded[pixels] += columns[element]
    image: Array = padded[windows.inside]
    return image
