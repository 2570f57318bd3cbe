"""Crops of pictures, copied together so that a batch is transformed at once."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np

from geeps_caffe.data import opencv as cv2
from geeps_caffe.device.array import Array, Shape, count


class Cut(NamedTuple):
    """The crop of one image, from a corner, and whether it is mirrored."""

    y: int
    x: int
    flip: bool

    def view(self, image: Array, shape: Shape) -> Array:
        """The crop of `image` (C, H, W) as it lies, not mirrored."""
        y, x, _ = self
        return image[:, y : y + shape[1], x : x + shape[2]]

    def mirrored(self, columns: int, width: int) -> "Cut":
        """The same place, `width` wide, in the mirror image of so many columns."""
        return Cut(self.y, columns - self.x - width, not self.flip)

    def mean_place(self, mean: Array | None, width: int) -> tuple[int, int]:
        """The place of the first pixel's mean, and the step from column to column.

        `width` is that of the crop. Means of channels have neither.
        """
        if mean is None:
            return 0, 0
        columns = mean.shape[2]
        first = self.y * columns + self.x
        return (first + width - 1, -1) if self.flip else (first, 1)


class Room:
    """Memory that one thread uses again and again; it only grows."""

    def __init__(self) -> None:
        self._arrays: dict[Any, Array] = {}

    def array(self, dtype: Any, shape: Shape) -> Array:
        """An array that is overwritten by the next one of its type."""
        size = count(shape)
        found = self._arrays.get(dtype)
        if found is None or found.size < size:
            self._arrays[dtype] = found = np.empty(size, dtype)
        return found[:size].reshape(shape)


def gather(
    images: Sequence[Array], cuts: Sequence[Cut], shape: Shape, room: Room
) -> Array:
    """The crops of images, mirrored where that is asked for.

    They are of `shape` (C, H, W) and of uint8, or float32 if an image is. It takes few
    calls, since after each one a thread has to wait for others that run Python.
    """
    banded = _banded(images, shape)
    height = images[0].shape[1] if banded else shape[1]
    rows = (shape[0] - 1) * height + shape[1]
    dtype = np.uint8 if all(i.itemsize == 1 for i in images) else np.float32
    lines = room.array(dtype, (len(images) * rows, shape[2]))
    if banded:
        out = _cut_bands(images, cuts, shape, lines)
    else:
        out = lines.reshape(-1, *shape)
        for image, cut, target in zip(images, cuts, out, strict=True):
            _copy(cut.view(image, shape), target)
    for some in _runs([cut.flip for cut in cuts]):
        mirrored = lines[some.start * rows : some.stop * rows]
        cv2.flip(mirrored, 1, mirrored)
    return out


def _banded(images: Sequence[Array], shape: Shape) -> bool:
    """Whether images lie alike, and bands through all channels are hardly more."""
    first = images[0]
    channels, height, _ = first.shape
    if 4 * (channels - 1) * (height - shape[1]) > channels * shape[1]:
        return False
    return all(
        image.shape == first.shape
        and image.dtype == first.dtype
        and image.flags.c_contiguous
        for image in images
    )


def _cut_bands(
    images: Sequence[Array], cuts: Sequence[Cut], shape: Shape, lines: Array
) -> Array:
    """Copy a band of each image: from its first channel's crop to its last one's.

    What lies between the crops goes with them, so that one call copies all. Returns
    the crops, which lie in `lines`.
    """
    rows, width = len(lines) // len(images), shape[2]
    _, height, columns = images[0].shape
    bands = [
        image.reshape(-1, columns)[y : y + rows, x : x + width]
        for image, (y, x, _) in zip(images, cuts, strict=True)
    ]
    cv2.vconcat(bands, lines)
    line = lines.strides[0]
    strides = (rows * line, height * line, *lines.strides)
    return np.ndarray((len(images), *shape), lines.dtype, lines, 0, strides)


def _copy(part: Array, out: Array) -> None:
    by_pixels = len(out) == 3 and part.strides[0] == part.itemsize
    if by_pixels and part.dtype == out.dtype:
        cv2.split(part.transpose(1, 2, 0), list(out))
    else:
        np.copyto(out, part)


def _runs(flags: Sequence[bool]) -> Iterator[slice]:
    """Where flags are set, in as few slices as can be."""
    start = 0
    for flag, some in groupby(flags):
        end = start + len(list(some))
        if flag:
            yield slice(start, end)
        start = end
