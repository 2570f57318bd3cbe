import os

import cv2
import numpy as np
import pytest

from geeps_caffe.data.clips import ClipFeed, read_videos
from geeps_caffe.data.image_list import Listed
from geeps_caffe.data.order import Sequential
from geeps_caffe.data.reader import Reader
from geeps_caffe.data.sampler import Sampler, Share
from geeps_caffe.data.transform import Transform
from geeps_caffe.errors import DataError


@pytest.fixture
def videos(tmp_path):
    """Three videos of 6, 7 and 8 frames; pixels are 10 times the video + frame."""
    listed = []
    for video in range(3):
        folder = tmp_path / f"v{video}"
        os.mkdir(folder)
        for frame in range(6 + video):
            image = np.full((4, 5, 3), 10 * video + frame, np.uint8)
            cv2.imwrite(str(folder / f"{frame:03d}.png"), image)
        listed.append(Listed(str(folder), video))
    return read_videos(listed)


def batches(videos, count, length=4, **settings):
    feed = ClipFeed(videos, length, Transform(**settings))
    reader = Reader(feed, Sampler(Sequential(), Share(2)))
    found = [[top.copy() for top in reader.next()] for _ in range(count)]
    reader.close()
    return found


def test_clips_are_time_major_and_marked(videos):
    ((data, label, markers),) = batches(videos, 1)
    assert data.shape == (8, 3, 4, 5)
    # the middle of 6 and of 7 frames starts at frame 1
    assert data[:, 0, 0, 0].tolist() == [1, 11, 2, 12, 3, 13, 4, 14]
    assert label.tolist() == [0, 1] * 4
    assert markers.tolist() == [0, 0, 1, 1, 1, 1, 1, 1]


def test_videos_start_again_at_the_end(videos):
    labels = [label[:2].tolist() for _, label, _ in batches(videos, 3)]
    assert labels == [[0, 1], [2, 0], [1, 2]]


def test_in_training_clips_start_anywhere_and_stay_in_order(videos):
    starts = set()
    for data, label, _ in batches(videos, 60, random_crop=True):
        frames = data[:, 0, 0, 0].reshape(4, 2)
        assert (np.diff(frames, axis=0) == 1).all()
        starts |= set(zip(label[:2].tolist(), frames[0].tolist(), strict=True))
    assert starts == {
        (video, 10.0 * video + start)
        for video in range(3)
        for start in range(3 + video)
    }


def test_a_clip_has_one_crop_and_one_mirror(videos, rng):
    image = rng.integers(0, 256, (4, 5, 3), np.uint8)
    for frame in videos[0].frames:
        cv2.imwrite(frame, image)
    for data, _, _ in batches(
        videos[:1], 5, crop=(2, 2), mirror=True, random_crop=True
    ):
        for clip in (0, 1):
            np.testing.assert_array_equal(data[clip::2], data[[clip] * 4])


def test_the_last_frame_of_a_short_video_is_repeated(videos):
    ((data, label, markers),) = batches(videos[:1], 1, length=8)
    assert data[::2, 0, 0, 0].tolist() == [0, 1, 2, 3, 4, 5, 5, 5]
    assert label.tolist() == [0] * 16
    assert markers.tolist() == [0, 0] + [1] * 14


def test_a_missing_video_is_refused(tmp_path):
    with pytest.raises(DataError, match="folder of frames or video file not found"):
        read_videos([Listed("Class/absent", 0)], str(tmp_path))
