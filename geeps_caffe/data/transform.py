"""transform_param: crop, mirror, mean and scale, on batches.

    top = (pixel - mean) * scale        at the place of the crop, then mirrored

as Caffe's DataTransformer, in float32. In training the crop is at random and each
record is mirrored with probability 1/2; in testing the crop is in the middle. The
random numbers belong to the record's place in the stream, so they are the same for
any number of workers and after a resume.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from geeps_caffe.data.cuts import Cut, Room, gather
from geeps_caffe.data.datum import layout_hint
from geeps_caffe.data.order import below, draw
from geeps_caffe.device.array import Array, Shape, count

_CONVERTED = 5 << 17  # values that are worked on together, so that they stay in cache
_GATHERED = 4 * _CONVERTED  # bytes that are; the more, the fewer calls


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
        room = self._take_room()
        for start in range(0, len(images), step):
            some = slice(start, start + step)
            values = gather(images[some], cuts[some], out.shape[1:], room)
            self._finish(values, cuts[some], out[some], room)
        self._rooms.append(room)

    def cuts(self, images: Sequence[Array], places: Array) -> list[Cut]:
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

    def _finish(
        self, values: Array, cuts: Sequence[Cut], out: Array, room: Room
    ) -> None:
        """Take the mean from cut out pictures, and scale them."""
        mean = self._channel_means() if self.mean is None else self.mean
        if mean is None:
            np.copyto(out, values)
        else:
            step = max(1, _CONVERTED // count(out.shape[1:]))
            for start in range(0, len(cuts), step):
                some = slice(start, start + step)
                self._subtract(mean, values[some], cuts[some], out[some], room)
        if self.scale != 1:
            np.multiply(out, np.float32(self.scale), out=out)

    def _subtract(
        self, mean: Array, values: Array, cuts: Sequence[Cut], out: Array, room: Room
    ) -> None:
        if values.dtype != np.float32 and values.size <= _CONVERTED:
            floats = room.array(np.float32, values.shape)
            np.copyto(floats, values)  # faster than to convert on the way
            values = floats
        for some, here in self._means_at(cuts, out.shape, mean):
            np.subtract(values[some], here, out=out[some], dtype=np.float32)

    def _means_at(
        self, cuts: Sequence[Cut], shape: Shape, mean: Array
    ) -> Iterator[tuple[slice, Array]]:
        """What is subtracted from which of the cuts."""
        still = not self.crop and not any(cut.flip for cut in cuts)
        if self.mean is None or still:
            yield slice(None), mean
            return
        for i, cut in enumerate(cuts):
            side = self._mirrored_mean if cut.flip else mean
            place = cut.mirrored(mean.shape[2], shape[3]) if cut.flip else cut
            yield slice(i, i + 1), place.view(side, shape[1:])

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
