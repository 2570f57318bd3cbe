"""Frames of videos: folders of images, and video files through OpenCV."""

import os
import re
from dataclasses import dataclass
from typing import Any

from geeps_caffe.data import opencv as cv2
from geeps_caffe.data.database import missing
from geeps_caffe.data.decode import Colour, planes, read_image
from geeps_caffe.device.array import Array
from geeps_caffe.errors import DataError

IMAGES = frozenset({".jpg", ".jpeg", ".png", ".bmp", ".ppm", ".pgm", ".tif", ".webp"})
VIDEOS = (".avi", ".mp4", ".mkv", ".mov", ".mpg", ".webm")


@dataclass(frozen=True)
class Video:
    """Where a video is, and its class."""

    path: str
    label: int
    frames: tuple[str, ...] = ()  # of a folder, in order; a video file has none here


def find_video(root: str, name: str, label: int) -> Video:
    """The video that a list names: a folder of frames, or a video file.

    Lists of UCF-101 say `Class/video`, and frames lie in `root/video`; both
    `root/Class/video` and `root/video` are looked for, with and without a file's
    ending.

    Raises:
        DataError: there is none, or the folder has no images.
    """
    places = [os.path.join(root, name), os.path.join(root, os.path.basename(name))]
    for place in dict.fromkeys(places):
        if os.path.isdir(place):
            return Video(place, label, _images(place))
        for path in (place, *(place + ending for ending in VIDEOS)):
            if os.path.isfile(path):
                return Video(path, label)
    raise DataError(
        missing(places[0], "folder of frames or video file")
        + (f"; {places[1]!r} isn't there either" if places[1] != places[0] else "")
    )


def count_frames(video: Video) -> int:
    """How many frames can be read; a file is decoded once, as its header may err.

    Raises:
        DataError: OpenCV can't read the file.
    """
    if video.frames:
        return len(video.frames)
    capture = _open(video)
    count = 0
    while capture.grab():
        count += 1
    capture.release()
    if not count:
        raise DataError(f"video {video.path!r} has no frames that OpenCV can decode")
    return count


def read_frames(video: Video, start: int, count: int) -> list[Array]:
    """So many frames from `start` on, uint8 (3, H, W), channels B, G, R.

    Beyond the end the last frame stays.

    Raises:
        DataError: a frame is missing or broken.
    """
    if video.frames:
        last = len(video.frames) - 1
        names = [video.frames[min(start + i, last)] for i in range(count)]
        return [read_image(name, Colour.COLOUR) for name in names]
    capture = _open(video)
    for _ in range(start):
        capture.grab()
    found: list[Array] = []
    while len(found) < count:
        there, image = capture.read()
        if not there:
            break
        found.append(planes(image))
    capture.release()
    if not found:
        raise DataError(f"video {video.path!r} ends before frame {start}")
    return found + [found[-1]] * (count - len(found))


def _open(video: Video) -> Any:
    """OpenCV's VideoCapture of it."""
    capture = cv2.VideoCapture(video.path)
    if not capture.isOpened():
        raise DataError(f"OpenCV can't read the video {video.path!r}")
    return capture


def _images(folder: str) -> tuple[str, ...]:
    """The images in a folder, in the order of the numbers in their names."""
    names = [n for n in os.listdir(folder) if os.path.splitext(n)[1].lower() in IMAGES]
    if not names:
        raise DataError(f"folder {folder!r} has no images")
    return tuple(os.path.join(folder, name) for name in sorted(names, key=_numbers))


def _numbers(name: str) -> list[tuple[int, str]]:
    """A key by which "9.jpg" comes before "10.jpg"."""
    parts = re.split(r"(\d+)", name)
    return [(int(part), "") if part.isdigit() else (-1, part) for part in parts]
