"""transform_param: crop, mirror, mean and scale, on batches.

    top = (pixel - mean) * scale        at the place of the crop, then mirrored

as Caffe's DataTransformer, in float32. In training the crop is at random and each
record is mirrored with probability 1/2; in testing the crop is in the middle. The
random numbers belong to the record's place in the stream, so they are the same for
any number of workers and after a resume.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from geeps_caffe.data import opencv as cv2
from geeps_caffe.data.cuts import Cut, Room, gather
from geeps_caffe.data.datum import layout_hint
from geeps_caffe.data.order import Draws, below
from geeps_caffe.device.array import Array, Shape, count

_GATHERED = 5 << 20  # bytes that are worked on together; the more, the fewer calls
_BUFFER = 1 << 16  # values that NumPy converts at a time: as floats they fit into L2


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
    _rooms: list[Room] = field(
        default_factory=list, init=False, repr=False, compare=False
    )  # that no thread uses now

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
        step = max(1, _GATHERED // count(out.shape[1:]))
        room, usual = self._take_room(), np.setbufsize(_BUFFER)
        for start in range(0, len(images), step):
            some = slice(start, start + step)
            values = gather(images[some], cuts[some], out.shape[1:], room)
            self._finish(values, cuts[some], out[some])
        np.setbufsize(usual)
        self._rooms.append(room)

    def cuts(self, images: Sequence[Array], places: Array) -> list[Cut]:
        """Where each image is cut, and whether it is mirrored."""
        sizes = np.array([image.shape[1:] for image in images])
        room = sizes - (self.crop or sizes)
        corners = room // 2
        flips = np.zeros(len(images), bool)
        if self.mirror or (self.random_crop and room.any()):
            words = self._draws.words(places)
            if self.mirror:
                flips = (words[:, 0] & 1).astype(bool)
            if self.random_crop:
                corners = below(words[:, 1:3], room + 1)
        return list(map(Cut, *corners.T.tolist(), flips.tolist()))

    def means(self) -> tuple[Array, tuple[int, int]]:
        """The mean's numbers, and the steps from one channel and one row to the next.

        0 where there is none. `Cut.mean_place` says where a picture's begin.
        """
        if self.mean is not None:
            _, height, width = self.mean.shape
            return self.mean.reshape(-1), (height * width, width)
        values = np.array(self.mean_values or (0,), np.float32)
        return values, (int(len(values) > 1), 0)

    def _finish(self, values: Array, cuts: Sequence[Cut], out: Array) -> None:
        """Take the mean from cut out pictures, and scale them."""
        mean = self._channel_means() if self.mean is None else self.mean
        if mean is None:
            np.copyto(out, values)
        elif self.mean is None or not (self.crop or any(cut.flip for cut in cuts)):
            np.subtract(values, mean, out=out, dtype=np.float32)
        else:
            for value, cut, target in zip(values, cuts, out, strict=True):
                place = self._mean_at(cut, mean, out.shape)
                cv2.subtract(value, place, target, dtype=cv2.CV_32F)  # rows are short
        if self.scale != 1:
            np.multiply(out, np.float32(self.scale), out=out)

    def _mean_at(self, cut: Cut, mean: Array, shape: Shape) -> Array:
        """What is subtracted from a cut."""
        if not cut.flip:
            return cut.view(mean, shape[1:])
        place = cut.mirrored(mean.shape[2], shape[3])
        return place.view(self._mirrored_mean, shape[1:])

    @cached_property
    def _draws(self) -> Draws:
        return Draws(self.seed, self.use)

    @cached_property
    def _mirrored_mean(self) -> Array:
        """A copy, since backwards in memory is slow."""
        assert self.mean is not None
        return np.ascontiguousarray(self.mean[..., ::-1])

    def _take_room(self) -> Room:
        try:
            return self._rooms.pop()
        except IndexError:  # all are in use
            return Room()

    def _channel_means(self) -> Array | None:
        if not any(self.mean_values):
            return None
        return np.array(self.mean_values, np.float32)[:, None, None]


def _channel_hint(expected: int, found: int) -> str:
    if (expected, found) == (3, 1):
        return " (a grey image; `force_color: true` gives it 3 channels)"
    if (expected, found) == (1, 3):
        return " (a colour image; `force_gray: true` gives it 1 channel)"
    return ""
