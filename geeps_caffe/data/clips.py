"""Clips of videos, as recurrent nets read them (LRCN): frames in time-major order.

A batch of B clips of T frames has tops

    data          (T * B, C, H, W); frame t of clip b is at t * B + b
    label         (T * B,)          the video's class at each frame
    clip_markers  (T * B,)          0 at the first frame of a clip, else 1
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from geeps_caffe.data.decode import resize
from geeps_caffe.data.image_list import Listed
from geeps_caffe.data.order import below, draw
from geeps_caffe.data.sampler import Batch
from geeps_caffe.data.transform import Transform
from geeps_caffe.data.video import Video, count_frames, find_video, read_frames
from geeps_caffe.device.array import Array, Shape, Shapes
from geeps_caffe.errors import DataError


def read_videos(listed: Sequence[Listed], root: str = "") -> list[Video]:
    """The videos that a list names, found in the folder `root`.

    Raises:
        DataError: a video is missing.
    """
    return [find_video(root, one.name, one.label) for one in listed]


@dataclass(frozen=True)
class _Clips:
    images: Sequence[Array]  # time-major
    labels: Array  # of the clips
    shapes: Shapes


class ClipFeed:
    """Cuts clips of `length` frames out of videos; a crop and a mirror serve a clip.

    In training a clip starts at a random frame, in testing in the middle. The last
    frame of a video that is shorter than a clip is repeated.
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
        self._counts: dict[str, int] = {}  # frames of video files, once counted

    def survey(self) -> Shape:
        """The shape of a transformed frame, known from the first one.

        Raises:
            DataError: it can't be read, or does not fit.
        """
        return self._transform.output(self._frames(self._videos[0], 0, 1)[0].shape)

    def fetch(self, batch: Batch) -> Sequence[tuple[Video, int]]:
        """See Feed: the videos, and the first frame of each clip."""
        videos = [self._videos[i % len(self._videos)] for i in batch.records.tolist()]
        room = np.array([max(0, self._count(v) - self._length) for v in videos])
        starts = room // 2
        if self._transform.random_crop:
            words = draw(batch.places, self._transform.seed, self._transform.use)
            starts = below(words[:, 3], room + 1)
        return list(zip(videos, starts.tolist(), strict=True))

    def decode(self, batch: Batch, fetched: Sequence[tuple[Video, int]]) -> _Clips:
        """See Feed."""
        del batch
        clips = [self._frames(video, start, self._length) for video, start in fetched]
        images = [clip[t] for t in range(self._length) for clip in clips]
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

    def name(self, number: int) -> str:
        """See Feed: its path."""
        return f"video {self._videos[number % len(self._videos)].path!r}"

    def close(self) -> None:
        """See Feed; no file stays open."""

    def _count(self, video: Video) -> int:
        if video.path not in self._counts:
            self._counts[video.path] = count_frames(video)
        return self._counts[video.path]

    def _frames(self, video: Video, start: int, count: int) -> list[Array]:
        images = read_frames(video, start, count)
        if self._size:
            images = [resize(image, *self._size) for image in images]
        try:
            self._transform.check(images[0].shape)
        except ValueError as error:
            raise DataError(f"video {video.path!r}: {error}") from error
        return images
