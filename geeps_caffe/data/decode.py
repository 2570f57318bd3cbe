"""Image files to pixels, by OpenCV as in Caffe: channels in the order B, G, R."""

from enum import IntEnum

import numpy as np

from geeps_caffe.data import opencv as cv2
from geeps_caffe.data.database import Record, missing
from geeps_caffe.device.array import Array
from geeps_caffe.errors import DataError
from prototxt.foreign import HEAD, foreign


class Colour(IntEnum):
    """How many channels an image is decoded to; by OpenCV's numbers for it."""

    NATIVE = -1
    GREY = 0
    COLOUR = 1


def decode(file: Record, colour: Colour) -> Array:
    """The pixels of an image file's bytes, as uint8 (C, H, W); a view, not dense.

    Raises:
        ValueError: the bytes are no image, or not of 8 bits a channel.
    """
    if not len(file):
        raise ValueError("the image file is empty")
    image = cv2.imdecode(np.frombuffer(file, np.uint8), int(colour))
    if image is None:
        raise ValueError(f"OpenCV can't decode the image (it begins {_begin(file)})")
    if image.dtype != np.uint8:
        raise ValueError(
            f"the image has {image.dtype} values; Caffe takes 8 bits a channel "
            "(`force_color` or `force_gray` converts it)"
        )
    return planes(image)


def resize(image: Array, height: int, width: int) -> Array:
    """`image` (C, H, W) in another size, by OpenCV's bilinear rule."""
    return planes(
        cv2.resize(pixels(image), (width, height), interpolation=cv2.INTER_LINEAR)
    )


def encode(image: Array, kind: str) -> bytes:
    """The bytes of an image file of `kind`, such as "png" or "jpg".

    Raises:
        ValueError: OpenCV can't write this kind.
    """
    try:
        done, file = cv2.imencode(f".{kind}", pixels(image))
    except cv2.error as error:
        raise ValueError(f"OpenCV can't write images of type {kind!r}") from error
    if not done:
        raise ValueError(f"OpenCV can't write images of type {kind!r}")
    return bytes(file)


def use_one_thread() -> None:
    """Keep OpenCV from starting threads of its own beside the reader's."""
    cv2.setNumThreads(1)


def read_image(path: str, colour: Colour) -> Array:
    """The pixels of an image file, uint8 (C, H, W).

    Raises:
        DataError: the file is missing, can't be read, or is no image.
    """
    return decode_file(read_file(path), path, colour)


def decode_file(file: Record, path: str, colour: Colour) -> Array:
    """Like `decode`, for the bytes of the file at `path`.

    Raises:
        DataError: the file is no image.
    """
    try:
        return decode(file, colour)
    except ValueError as error:
        raise DataError(f"image {path!r}: {error}") from error


def read_file(path: str) -> bytes:
    """The bytes of a file.

    Raises:
        DataError: it is missing or can't be read.
    """
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError as error:
        raise DataError(missing(path, "image file")) from error
    except OSError as error:
        raise DataError(f"image file {path!r}: {error.strerror}") from error


def planes(image: Array) -> Array:
    """OpenCV's (H, W) or (H, W, C) as a view of shape (C, H, W)."""
    return image[None] if image.ndim == 2 else image.transpose(2, 0, 1)


def pixels(image: Array) -> Array:
    """The view (H, W) or (H, W, C) that OpenCV wants of an image (C, H, W)."""
    if len(image) == 1:
        return np.ascontiguousarray(image[0])
    return np.ascontiguousarray(image.transpose(1, 2, 0))


def to_colour(image: Array, colour: Colour) -> Array:
    """Raw pixels (C, H, W) with 3 channels or 1, where `colour` asks for it."""
    if colour is Colour.COLOUR and len(image) == 1:
        return np.broadcast_to(image, (3, *image.shape[1:]))
    if colour is Colour.GREY and len(image) == 3:
        return planes(cv2.cvtColor(pixels(image), cv2.COLOR_BGR2GRAY))
    return image


def _begin(file: Record) -> str:
    what = foreign(bytes(file[:HEAD]))
    told = f": {what}" if what else ""
    return f"with the bytes {bytes(file[:8]).hex(' ')}{told}"
