"""transform_param: crop, mirror, mean and scale, on batches.

    top = (pixel - mean) * scale        at the place of the crop, then mirrored

as Caffe's DataTransformer, in float32. In training the crop is at random and each
record is mirrored with probability 1/2; in testing the crop is in the middle. The
random numbers belong to the record's place in the stream, so they are the same for
any number of workers and after a resume.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np

from geeps_caffe.data.datum import layout_hint
from geeps_caffe.data.order import below, draw
from geeps_caffe.device.array import Array, Shape, count

_CHUNK = 1 << 18  # values that are worked on together, so that they stay in cache


@dataclass(frozen=True)
class Transform:
    """What transform_param asks for."""

    scale: float = 1.0
    mirror: bool = False
    crop: tuple[int, int] | None = None  # rows, columns
    random_crop: bool = False
    mean: Array | None = None  # float32 (C, H, W)
    mean_file: str = ""  # for messages
    mean_values: tuple[float, ...] = ()
    seed: int = 1
    use: int = 0  # salt of this layer's random numbers

    def check(self, shape: Shape) -> None:
        """Refuse images of `shape` (C, H, W) that can't be transformed.

        Raises:
            ValueError: it says both shapes and what to do.
        """
        channels, height, width = shape
        if self.crop and (height < self.crop[0] or width < self.crop[1]):
            raise ValueError(
                f"crop_size {self.crop[0]}x{self.crop[1]} does not fit into an image "
                f"of shape {shape} (channels, rows, columns){layout_hint(shape)}; use "
                "a smaller crop_size or larger images"
            )
        if self.mean is not None and self.mean.shape != shape:
            raise ValueError(
                f"the mean of {self.mean_file!r} has shape {self.mean.shape}, the "
                f"image {shape}{_channel_hint(self.mean.shape[0], channels)}"
                f"{layout_hint(shape)}; resize the images when the database is made "
                "(or by new_height and new_width), or use mean_value for each channel"
            )
        if len(self.mean_values) > 1 and len(self.mean_values) != channels:
            raise ValueError(
                f"there are {len(self.mean_values)} mean_values and {channels} "
                f"channels{_channel_hint(len(self.mean_values), channels)}"
                f"{layout_hint(shape)}; give 1 mean_value or {channels}"
            )

    def output(self, shape: Shape) -> Shape:
        """The shape that an image of `shape` (C, H, W) has afterwards."""
        return (shape[0], *self.crop) if self.crop else shape

    def write(self, images: Sequence[Array], places: Array, out: Array) -> None:
        """Transform `images`, uint8 or float32 (C, H, W), into `out` (N, C, H, W)."""
        cuts = self.cuts(images, places)
        step = max(1, _CHUNK // count(out.shape[1:]))
        if step == 1:
            for image, cut, target in zip(images, cuts, out, strict=True):
                self._large(image, cut, target)
            return
        for start in range(0, len(images), step):
            some = slice(start, start + step)
            self._chunk(images[some], cuts[some], out[some])

    def cuts(self, images: Sequence[Array], places: Array) -> list["Cut"]:
        """Where each image is cut, and whether it is mirrored."""
        crop = self.crop
        rows = [i.shape[1] - (crop[0] if crop else i.shape[1]) for i in images]
        columns = [i.shape[2] - (crop[1] if crop else i.shape[2]) for i in images]
        flips = [False] * len(images)
        if self.mirror or (self.random_crop and (any(rows) or any(columns))):
            words = draw(places, self.seed, self.use)
            if self.mirror:
                flips = (words[:, 0] & 1).astype(bool).tolist()
            if self.random_crop:
                rows = below(words[:, 1], np.array(rows) + 1).tolist()
                columns = below(words[:, 2], np.array(columns) + 1).tolist()
        if not self.random_crop:
            rows, columns = [n // 2 for n in rows], [n // 2 for n in columns]
        return [Cut(*c) for c in zip(rows, columns, flips, strict=True)]

    def means(self) -> tuple[Array, tuple[int, int]]:
        """The mean's numbers, and the steps from one channel and one row to the next.

        0 where there is none. `Cut.mean_place` says where a picture's begin.
        """
        if self.mean is not None:
            _, height, width = self.mean.shape
            return self.mean.reshape(-1), (height * width, width)
        values = np.array(self.mean_values or (0,), np.float32)
        return values, (int(len(values) > 1), 0)

    def _chunk(
        self, images: Sequence[Array], cuts: Sequence["Cut"], out: Array
    ) -> None:
        values = np.empty(out.shape, images[0].dtype)
        for image, cut, value in zip(images, cuts, values, strict=True):
            cut.take(image, value)
        if self.mean is None:
            _subtract(values, self._channel_means(), out)
        elif any((*c.corner, c.flip) != (0, 0, False) for c in cuts) or self.crop:
            for cut, value, target in zip(cuts, values, out, strict=True):
                _subtract(value, self._mean_at(cut, value.shape), target)
        else:
            _subtract(values, self.mean, out)
        if self.scale != 1:
            np.multiply(out, np.float32(self.scale), out=out)

    def _large(self, image: Array, cut: "Cut", out: Array) -> None:
        """One image; its pixels are copied first only where they lie otherwise."""
        values = cut.view(image, out.shape)
        if cut.flip or values.strides[-1] != values.itemsize:
            values = np.empty(out.shape, image.dtype)
            cut.take(image, values)
        mean = self._channel_means()
        if self.mean is not None:
            mean = self._mean_at(cut, out.shape)
        _subtract(values, mean, out)
        if self.scale != 1:
            np.multiply(out, np.float32(self.scale), out=out)

    def _channel_means(self) -> Array | None:
        if not any(self.mean_values):
            return None
        return np.array(self.mean_values, np.float32)[:, None, None]

    def _mean_at(self, cut: "Cut", shape: Shape) -> Array:
        """The mean under a crop, mirrored with it."""
        assert self.mean is not None
        (y, x), (_, height, width) = cut.corner, shape
        part = self.mean[:, y : y + height, x : x + width]
        return part[..., ::-1] if cut.flip else part


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

    def mean_place(self, mean: Array | None, width: int) -> tuple[int, int]:
        """The place of the first pixel's mean, and the step from column to column.

        `width` is that of the crop. Means of channels have neither.
        """
        if mean is None:
            return 0, 0
        (y, x), columns = self.corner, mean.shape[2]
        first = y * columns + x
        return (first + width - 1, -1) if self.flip else (first, 1)

    def take(self, image: Array, out: Array) -> None:
        """Copy the crop of `image` (C, H, W) into `out`."""
        channels, _, width = out.shape
        part = self.view(image, out.shape)
        if channels == 3 and part.strides[0] == part.itemsize:
            cv2.split(part.transpose(1, 2, 0), list(out))  # (H, W, C) in memory
        else:
            np.copyto(out, part)
        if self.flip:
            rows = out.reshape(-1, width)
            cv2.flip(rows, 1, rows)


def _subtract(values: Array, mean: Array | None, out: Array) -> None:
    if mean is None:
        np.copyto(out, values)
    else:
        np.subtract(values, mean, out=out, dtype=np.float32)


def _channel_hint(expected: int, found: int) -> str:
    if (expected, found) == (3, 1):
        return " (a grey image; `force_color: true` gives it 3 channels)"
    if (expected, found) == (1, 3):
        return " (a colour image; `force_gray: true` gives it 1 channel)"
    return ""
