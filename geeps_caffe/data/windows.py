"""The feed of a WindowData layer: windows of images, warped to squares (R-CNN)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from geeps_caffe.data import opencv as cv2
from geeps_caffe.data.decode import Colour, decode_file, pixels, read_file
from geeps_caffe.data.order import below, draw
from geeps_caffe.data.sampler import Batch, Share
from geeps_caffe.data.window_file import Window, WindowFile
from geeps_caffe.device.array import Array, Shapes
from geeps_caffe.errors import DataError


@dataclass(frozen=True)
class WindowForm:
    """How windows are cut and what is done with their pixels."""

    crop: int
    context_pad: int = 0
    square: bool = False
    mirror: bool = False
    scale: float = 1.0  # of window_data_param; transform_param's is not used
    mean: Array | None = None  # float32 (C, H, W), its middle is used
    mean_values: tuple[float, ...] = ()
    cache: bool = False  # keep image files in memory
    seed: int = 1
    use: int = 0


class WindowOrder:
    """Background windows first, then foreground, each at random, in every batch.

    Numbers below the number of foreground windows are foreground.
    """

    def __init__(
        self, file: WindowFile, fraction: float, share: Share, seed: int, use: int
    ) -> None:
        self._counts = len(file.foreground), len(file.background)
        self._together = share.together
        wanted = np.float32(share.together) * np.float32(fraction)
        self._first_foreground = share.together - int(wanted)
        self._seed, self._use = seed, use

    def records(self, places: Array) -> Array:
        """See Order."""
        foreground, background = self._counts
        words = draw(places, self._seed, self._use)[:, 1]
        front = places % self._together >= self._first_foreground
        return np.where(
            front,
            below(words, max(1, foreground)),
            foreground + below(words, max(1, background)),
        )

    @property
    def missing(self) -> str:
        """Which kind of window is needed and not there, or ""."""
        foreground, background = self._counts
        if not foreground and self._first_foreground < self._together:
            return "foreground"
        return "background" if not background and self._first_foreground else ""


@dataclass(frozen=True)
class _Crops:
    """Windows warped to at most crop x crop, where they lie, and their labels."""

    windows: Sequence[tuple[Array, int, int]]  # pixels (H, W, C), first row, column
    labels: Sequence[int]
    shapes: Shapes


class WindowFeed:
    """Reads the images of windows, cuts the windows out and warps them."""

    def __init__(self, file: WindowFile, form: WindowForm, tops: int) -> None:
        self._file = file
        self._windows = file.foreground + file.background
        self._form = form
        self._tops = tops
        self._cached: dict[int, bytes] = {}
        if form.cache:
            self._cached = {i: read_file(name) for i, name in file.images.items()}

    def fetch(self, batch: Batch) -> Sequence[Window]:
        """See Feed."""
        return [self._windows[i] for i in batch.records.tolist()]

    def decode(self, batch: Batch, fetched: Sequence[Window]) -> _Crops:
        """See Feed."""
        flips = [False] * len(fetched)
        if self._form.mirror:
            words = draw(batch.places, self._form.seed, self._form.use)
            flips = (words[:, 0] & 1).astype(bool).tolist()
        crops = [self._cut(w, flip) for w, flip in zip(fetched, flips, strict=True)]
        side, batch_size = self._form.crop, len(crops)
        shapes = ((batch_size, self._file.channels, side, side), (batch_size,))
        return _Crops(crops, [w.label for w in fetched], shapes[: self._tops])

    def write(self, batch: Batch, decoded: _Crops, tops: Sequence[Array]) -> None:
        """See Feed. Around a window that reaches beyond its image there is 0."""
        del batch
        tops[0][...] = 0
        for (image, y, x), out in zip(decoded.windows, tops[0], strict=True):
            self._place(image.transpose(2, 0, 1), y, x, out)
        if len(tops) > 1:
            tops[1][...] = np.asarray(decoded.labels)

    def name(self, number: int) -> str:
        """See Feed: its image."""
        window = self._windows[number]
        return f"a window of image {self._file.images[window.image]!r}"

    def close(self) -> None:
        """See Feed; no file stays open."""

    def _place(self, image: Array, y: int, x: int, out: Array) -> None:
        form, (_, height, width) = self._form, image.shape
        part = out[:, y : y + height, x : x + width]
        if form.mean is not None:
            edge = (form.mean.shape[2] - form.crop) // 2
            y, x = y + edge, x + edge
            np.subtract(image, form.mean[:, y : y + height, x : x + width], out=part)
        elif form.mean_values:
            means = np.array(form.mean_values, np.float32)[:, None, None]
            np.subtract(image, means, out=part)
        else:
            np.copyto(part, image)
        if form.scale != 1:
            np.multiply(part, np.float32(form.scale), out=part)

    def _cut(self, window: Window, flip: bool) -> tuple[Array, int, int]:
        """The warped window (H, W, C) and where it lies in the crop."""
        image = self._image(window)
        box, size, y, x = self._geometry(window, image.shape[:2], flip)
        x1, y1, x2, y2 = box
        part = image[y1 : y2 + 1, x1 : x2 + 1]
        if (
            not part.size
            or x1 < 0
            or y1 < 0
            or x2 >= image.shape[1]
            or (y2 >= image.shape[0])
        ):
            raise DataError(
                f"window {(x1, y1, x2, y2)} of image "
                f"{self._file.images[window.image]!r} is empty or lies outside of the "
                f"image of {image.shape[0]} rows and {image.shape[1]} columns"
            )
        warped = cv2.resize(part, size, interpolation=cv2.INTER_LINEAR)
        return (cv2.flip(warped, 1) if flip else warped), y, x

    def _image(self, window: Window) -> Array:
        name = self._file.images[window.image]
        file = self._cached.get(window.image) or read_file(name)
        return pixels(decode_file(file, name, Colour.COLOUR))

    def _geometry(
        self, window: Window, image: tuple[int, ...], flip: bool
    ) -> tuple[tuple[int, int, int, int], tuple[int, int], int, int]:
        """The box to cut out, its size (width, height) when warped, and its place."""
        form = self._form
        if not form.context_pad and not form.square:
            box = (window.x1, window.y1, window.x2, window.y2)
            return box, (form.crop, form.crop), 0, 0
        half = [_half(window.x1, window.x2), _half(window.y1, window.y2)]
        centres = (window.x1 + half[0], window.y1 + half[1])
        if form.square:
            half = [max(half)] * 2
        across = _clip(centres[0], half[0], image[1], form)
        down = _clip(centres[1], half[1], image[0], form)
        x = across.after if flip else across.before  # the padding is mirrored as well
        y = down.before
        size = (min(across.size, form.crop - x), min(down.size, form.crop - y))
        return (across.low, down.low, across.high, down.high), size, y, x


@dataclass(frozen=True)
class _Extent:
    """One axis of a window with its context: pixels inside of the image, padding."""

    low: int
    high: int
    size: int  # of the inner part, warped
    before: int  # padding, warped
    after: int


def _half(low: int, high: int) -> np.float32:
    return np.float32((high - low + 1) / 2)


def _clip(
    centre: float | np.float32, half: np.float32, extent: int, form: WindowForm
) -> _Extent:
    """Widen an axis by the context and clip it at the image, rounding as Caffe does."""
    grow = np.float32(form.crop) / np.float32(form.crop - 2 * form.context_pad)
    low = _round(np.float32(centre) - half * grow)
    high = _round(np.float32(centre) + half * grow)
    before, after = max(0, -low), max(0, high - extent + 1)
    scale = np.float32(form.crop) / np.float32(high - low + 1)
    inner = high - after - (low + before) + 1
    return _Extent(
        low + before,
        high - after,
        _round(np.float32(inner) * scale),
        _round(np.float32(before) * scale),
        _round(np.float32(after) * scale),
    )


def _round(value: np.float32) -> int:
    """The nearest whole number, halves away from 0, as C's round."""
    return int(np.copysign(np.floor(abs(float(value)) + 0.5), float(value)))
