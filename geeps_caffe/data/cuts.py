"""Crops of pictures, copied together so that a batch is transformed at once."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

import cv2
import numpy as np

from geeps_caffe.device.array import Array, Shape, count


class Cut:
    """The crop of one image, from a corner, and whether it is mirrored."""

    __slots__ = ("corner", "flip")

    def __init__(self, y: int, x: int, flip: bool) -> None:
        self.corner = (y, x)
        self.flip = flip

    def view(self, image: Array, shape: Shape) -> Array:
        """The crop of `image` (C, H, W) as it lies, not mirrored."""
        (y, x), (_, height, width) = self.corner, shape
        return image[:, y : y + height, x : x + width]

    def mirrored(self, columns: int, width: int) -> "Cut":
        """The same place, `width` wide, in the mirror image of so many columns."""
        y, x = self.corner
        return Cut(y, columns - x - width, not self.flip)

    def mean_place(self, mean: Array | None, width: int) -> tuple[int, int]:
        """The place of the first pixel's mean, and the step from column to column.

        `width` is that of the crop. Means of channels have neither.
        """
        if mean is None:
            return 0, 0
        (y, x), columns = self.corner, mean.shape[2]
        first = y * columns + x
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
    bytes_only = all(image.itemsize == 1 for image in images)
    dtype = np.uint8 if bytes_only else np.float32
    out = room.array(dtype, (len(images), *shape))
    parts = [cut.view(i, shape) for i, cut in zip(images, cuts, strict=True)]
    if any(part.strides[-1] != part.itemsize for part in parts):
        for part, target in zip(parts, out, strict=True):
            _copy(part, target)
    else:
        np.concatenate(parts, out=out.reshape(-1, *shape[1:]))
    for some in _runs([cut.flip for cut in cuts]):
        rows = out[some].reshape(-1, shape[2])
        cv2.flip(rows, 1, rows)
    return out


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
