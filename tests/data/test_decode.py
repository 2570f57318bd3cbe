import cv2
import numpy as np
import pytest

from geeps_caffe.data.decode import (
    Colour,
    decode,
    encode,
    read_image,
    resize,
    to_colour,
)
from geeps_caffe.errors import DataError


@pytest.fixture
def image(rng):
    return rng.integers(0, 256, (3, 6, 5), np.uint8)


def png(pixels):
    return cv2.imencode(".png", pixels)[1].tobytes()


def test_channels_come_in_the_order_of_opencv(image):
    file = png(image.transpose(1, 2, 0))
    for colour in (Colour.COLOUR, Colour.NATIVE):
        np.testing.assert_array_equal(decode(file, colour), image)
    assert decode(file, Colour.GREY).shape == (1, 6, 5)


def test_what_is_encoded_is_decoded(image):
    np.testing.assert_array_equal(decode(encode(image, "png"), Colour.NATIVE), image)
    grey = image[:1]
    np.testing.assert_array_equal(decode(encode(grey, "png"), Colour.NATIVE), grey)


def test_a_new_size_is_rows_by_columns(image):
    assert resize(image, 4, 9).shape == (3, 4, 9)
    assert resize(image[:1], 4, 9).shape == (1, 4, 9)


def test_raw_pixels_change_their_channels_only_when_asked(image):
    assert to_colour(image, Colour.NATIVE) is image
    assert to_colour(image[:2], Colour.GREY).shape == (2, 6, 5)
    np.testing.assert_array_equal(
        to_colour(image[:1], Colour.COLOUR), np.repeat(image[:1], 3, 0)
    )


@pytest.mark.parametrize(
    ("file", "said"),
    [
        (b"", "is empty"),
        (b"no image", "can't decode the image .* bytes 6e 6f"),
        (b"version https://git-lfs.github.com/spec/v1\n", "pointer of Git LFS"),
        (png(np.zeros((2, 2), np.uint16)), "uint16 values"),
    ],
)
def test_other_files_are_refused(file, said):
    with pytest.raises(ValueError, match=said):
        decode(file, Colour.NATIVE)


def test_an_unknown_kind_is_refused(image):
    with pytest.raises(ValueError, match="can't write images of type 'xyz'"):
        encode(image, "xyz")


def test_a_file_is_named(tmp_path):
    with pytest.raises(DataError, match="image file not found"):
        read_image(str(tmp_path / "a.png"), Colour.COLOUR)
    with pytest.raises(DataError, match="Is a directory"):
        read_image(str(tmp_path), Colour.COLOUR)
