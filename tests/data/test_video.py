import cv2
import numpy as np
import pytest

from geeps_caffe.data.video import Video, count_frames, find_video, read_frames
from geeps_caffe.errors import DataError


@pytest.fixture
def film(tmp_path):
    """A video file of 7 grey frames of brightness 0, 30, ..., 180."""
    path = str(tmp_path / "film.avi")
    writer = cv2.VideoWriter(path, cv2.VideoWriter.fourcc(*"MJPG"), 10, (32, 16))
    for i in range(7):
        writer.write(np.full((16, 32, 3), 30 * i, np.uint8))
    writer.release()
    return path


def brightness(frames):
    return [round(float(frame.mean()) / 30) for frame in frames]


def test_frames_of_a_file_come_from_any_place(film):
    video = find_video("", film, 3)
    assert (video.label, count_frames(video)) == (3, 7)
    frames = read_frames(video, 2, 3)
    assert frames[0].shape == (3, 16, 32)
    assert brightness(frames) == [2, 3, 4]


def test_beyond_the_end_the_last_frame_stays(film):
    assert brightness(read_frames(Video(film, 0), 5, 4)) == [5, 6, 6, 6]


def test_frames_of_a_folder_come_in_the_order_of_their_numbers(tmp_path):
    for i in range(12):
        image = np.full((4, 5, 3), 20 * i, np.uint8)
        cv2.imwrite(str(tmp_path / f"frame.{i}.png"), image)
    (tmp_path / "notes.txt").write_text("no image")
    video = find_video(str(tmp_path.parent), tmp_path.name, 0)
    assert count_frames(video) == 12
    frames = read_frames(video, 0, 12)
    assert [int(frame[0, 0, 0]) // 20 for frame in frames] == list(range(12))


@pytest.mark.parametrize("name", ["film", "film.avi", "Class/film", "Class/film.avi"])
def test_names_of_lists_are_found_with_and_without_class_and_ending(film, name):
    root = film.removesuffix("film.avi")
    assert find_video(root, name, 0).path == film


def test_what_is_no_video_is_named(tmp_path):
    with pytest.raises(DataError, match=r"not found.*Class/v.*v' isn't there either"):
        find_video(str(tmp_path), "Class/v", 0)
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="has no images"):
        find_video(str(tmp_path), "empty", 0)
    (tmp_path / "text.avi").write_text("no video")
    with pytest.raises(DataError, match=r"text\.avi"):
        count_frames(find_video(str(tmp_path), "text", 0))
