"""Clips of videos, as recurrent nets read them (LRCN): frames in time-major order.

A video is a folder of frame images, in the order of their names. A batch of B clips
of T frames has tops

    data          (T * B, C, H, W); frame t of clip b is at t * B + b
    label         (T * B,)          the video's class at each frame
    clip_markers  (T * B,)          0 at the first frame of a clip, else 1
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from geeps_caffe.data.database import missing
from geeps_caffe.data.decode import Colour, read_image, resize
from geeps_caffe.data.image_list import Listed
from geeps_caffe.data.order import below, draw
from geeps_caffe.data.sampler import Batch
from geeps_caffe.data.transform import Transform
from geeps_caffe.device.array import Array, Shapes
from geeps_caffe.errors import DataError


@dataclass(frozen=True)
class Video:
    """The frames of a video, paths of images, and its class."""

    frames: tuple[str, ...]
    label: int


def read_videos(listed: Sequence[Listed]) -> list[Video]:
    """The videos whose folders a list names.

    Raises:
        DataError: a folder is missing.
    """
    return [Video(_frames(one.name), one.label) for one in listed]


@dataclass(frozen=True)
class _Clips:
    images: Sequence[Array]  # time-major
    labels: Array  # of the clips
    shapes: Shapes


class ClipFeed:
    """Cuts clips of `length` frames out of videos; a crop and a mirror serve a clip.

    In training a clip starts at a random frame, in testing in the middle.
    """

    def __init__(
        self,
        videos: Sequence[Video],
        length: int,
        transform: Transform,
        size: tuple[int, int] | None = None,
    ) -> None:
        self._videos = videos
        self._length = length
        self._transform = transform
        self._size = size  # rows and columns that frames are resized to
        for video in videos:
            if len(video.frames) < length:
                raise DataError(
                    f"video {os.path.dirname((*video.frames, '')[0])!r} has "
                    f"{len(video.frames)} frames; a clip needs {length}"
                )

    def fetch(self, batch: Batch) -> Sequence[tuple[Video, int]]:
        """See Feed: the videos, and the first frame of each clip."""
        videos = [self._videos[i % len(self._videos)] for i in batch.records.tolist()]
        room = np.array([len(v.frames) - self._length for v in videos])
        starts = room // 2
        if self._transform.random_crop:
            words = draw(batch.places, self._transform.seed, self._transform.use)
            starts = below(words[:, 3], room + 1)
        return list(zip(videos, starts.tolist(), strict=True))

    def decode(self, batch: Batch, fetched: Sequence[tuple[Video, int]]) -> _Clips:
        """See Feed."""
        del batch
        images = [
            self._image(video.frames[start + t])
            for t in range(self._length)
            for video, start in fetched
        ]
        shape = self._transform.output(images[0].shape)
        count = len(images)
        labels = np.array([video.label for video, _ in fetched])
        return _Clips(images, labels, ((count, *shape), (count,), (count,)))

    def write(self, batch: Batch, decoded: _Clips, tops: Sequence[Array]) -> None:
        """See Feed."""
        clips = len(decoded.labels)
        places = np.tile(batch.places, self._length)
        self._transform.write(decoded.images, places, tops[0])
        tops[1][...] = np.tile(decoded.labels, self._length)
        tops[2][:clips] = 0
        tops[2][clips:] = 1

    def close(self) -> None:
        """See Feed; no file stays open."""

    def _image(self, path: str) -> Array:
        image = read_image(path, Colour.COLOUR)
        if self._size:
            image = resize(image, *self._size)
        try:
            self._transform.check(image.shape)
        except ValueError as error:
            raise DataError(f"frame {path!r}: {error}") from error
        return image


def _frames(folder: str) -> tuple[str, ...]:
    if not os.path.isdir(folder):
        raise DataError(missing(folder, "folder of frames"))
    return tuple(os.path.join(folder, name) for name in sorted(os.listdir(folder)))
