"""Pictures as bytes, cut out but not transformed yet: a device does the rest.

A batch is one block, so that it is copied at once: for each record NUMBERS numbers of
64 bits, then its label as a float, then the bytes of all crops as they lie in memory,
which of decoded images is by pixels. The numbers of a record:

    where its first value is, from channel to channel, from row to row, from column to
    column, where the first value's mean is, and the mean from column to column

A mirrored picture begins at the end of its rows and goes back.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from geeps_caffe.data.cuts import Cut
from geeps_caffe.data.feed import Decoded, Feed
from geeps_caffe.data.pictures import Pictures
from geeps_caffe.data.sampler import Batch
from geeps_caffe.data.transform import Transform
from geeps_caffe.device.array import Array, Shape, Shapes, count

NUMBERS = 6
_HEAD = 8 * NUMBERS + 4  # bytes of a record besides its pixels


@dataclass(frozen=True)
class PackedPictures:
    """Decoded images to be packed."""

    pictures: Pictures

    @property
    def shapes(self) -> Shapes:
        """One block, in floats."""
        return ((packed_bytes(self.pictures.shapes[0]) // 4,),)


class PackedFeed:
    """Another feed of pictures whose batches are packed; a Feed.

    Pictures of floats are transformed and written as that feed does it.
    """

    def __init__(self, feed: Feed, transform: Transform) -> None:
        self._feed, self._transform = feed, transform

    def fetch(self, batch: Batch) -> Any:
        """See Feed."""
        return self._feed.fetch(batch)

    def decode(self, batch: Batch, fetched: Any) -> Decoded:
        """See Feed."""
        pictures = self._feed.decode(batch, fetched)
        assert isinstance(pictures, Pictures), "a feed of something else"
        bytes_only = all(image.dtype == np.uint8 for image in pictures.images)
        return PackedPictures(pictures) if bytes_only else pictures

    def write(self, batch: Batch, decoded: Any, tops: Sequence[Array]) -> None:
        """See Feed."""
        if isinstance(decoded, PackedPictures):
            pack(self._transform, batch.places, decoded.pictures, tops[0])
        else:
            self._feed.write(batch, decoded, tops)

    def name(self, number: int) -> str:
        """See Feed."""
        return self._feed.name(number)

    def close(self) -> None:
        """See Feed."""
        self._feed.close()


def packed_bytes(shape: Shape) -> int:
    """Bytes of the block of a batch whose top has this shape; whole floats."""
    return -(-(count(shape) + _HEAD * shape[0]) // 4) * 4


def is_packed(batch: Sequence[Array]) -> bool:
    """Whether a PackedFeed has packed a batch; pictures have four axes."""
    return batch[0].ndim == 1


def parts(block: Array, records: int) -> tuple[Array, Array, Array]:
    """The numbers (N, NUMBERS), the labels (N,) and the pixels of a block of bytes."""
    numbers, labels = 8 * NUMBERS * records, _HEAD * records
    return (
        block[:numbers].view(np.int64).reshape(records, NUMBERS),
        block[numbers:labels].view(np.float32),
        block[labels:],
    )


def pack(transform: Transform, places: Array, pictures: Pictures, out: Array) -> None:
    """Write a batch into a block."""
    records, shape = len(pictures.images), pictures.shapes[0][1:]
    numbers, labels, pixels = parts(out.view(np.uint8), records)
    labels[...] = np.asarray(pictures.labels)
    size, cuts = count(shape), transform.cuts(pictures.images, places)
    for i, (image, cut) in enumerate(zip(pictures.images, cuts, strict=True)):
        some = pixels[i * size : (i + 1) * size]
        first, steps = _lay(cut, image, shape, some)
        mean = cut.mean_place(transform.mean, shape[2])
        numbers[i] = (i * size + first, *steps, *mean)


def _lay(
    cut: Cut, image: Array, shape: Shape, out: Array
) -> tuple[int, tuple[int, int, int]]:
    """Copy a crop as it lies; where its first value is, and the steps to others."""
    channels, height, width = shape
    part = cut.view(image, shape)
    if channels > 1 and part.strides[0] == part.itemsize:  # (H, W, C) in memory
        np.copyto(out.reshape(height, width, channels), part.transpose(1, 2, 0))
        steps = (1, width * channels, channels)
    else:
        np.copyto(out.reshape(shape), part)
        steps = (height * width, width, 1)
    if not cut.flip:
        return 0, steps
    return (width - 1) * steps[2], (*steps[:2], -steps[2])
