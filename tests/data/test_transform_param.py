import numpy as np
import pytest

from geeps_caffe.data.decode import Colour
from geeps_caffe.data.mean import write_mean
from geeps_caffe.data.transform_param import read_colour, read_transform
from prototxt.schema import TransformationParameter


def read(training=True, **fields):
    return read_transform(TransformationParameter(**fields), training, 1, 2)


def test_settings_are_taken_over():
    transform = read(scale=0.5, mirror=True, crop_size=3, mean_value=[1, 2])
    assert (transform.scale, transform.mirror, transform.crop) == (0.5, True, (3, 3))
    assert (transform.mean_values, transform.random_crop) == ((1, 2), True)
    assert not read(training=False, crop_size=3).random_crop


def test_a_crop_may_have_two_sides():
    assert read(crop_h=3, crop_w=4).crop == (3, 4)
    with pytest.raises(ValueError, match="crop_h and crop_w"):
        read(crop_h=3)


def test_a_layer_may_have_its_own_seed():
    assert (read().seed, read(random_seed=9).seed) == (1, 9)


def test_the_mean_file_is_read(tmp_path):
    mean = np.arange(12, dtype=np.float32).reshape(3, 2, 2)
    (tmp_path / "mean").write_bytes(write_mean(mean))
    np.testing.assert_array_equal(read(mean_file=str(tmp_path / "mean")).mean, mean)


def test_two_means_are_refused():
    with pytest.raises(ValueError, match=r"both mean_file 'm' and mean_value \[1.0\]"):
        read(mean_file="m", mean_value=[1])


def test_arithmetic_of_forks_is_refused_with_all_names():
    with pytest.raises(ValueError, match="not supported: flow, img_rand_resize_lower"):
        read(flow=True, img_rand_resize_lower=256)
    read(flow=False, vertical_stretch_lower=1)  # as if not there


@pytest.mark.parametrize(
    ("fields", "colour"),
    [
        ({}, Colour.NATIVE),
        ({"force_color": True}, Colour.COLOUR),
        ({"force_gray": True}, Colour.GREY),
    ],
)
def test_colour_can_be_forced(fields, colour):
    assert read_colour(TransformationParameter(**fields)) is colour


def test_both_colours_are_refused():
    with pytest.raises(ValueError, match="keep one"):
        read_colour(TransformationParameter(force_color=True, force_gray=True))
