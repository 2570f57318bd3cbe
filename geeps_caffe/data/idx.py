"""IDX files, the format of MNIST, and other files that may be compressed."""

import bz2
import gzip
import lzma
import os
import zlib
from collections.abc import Callable
from typing import Any, BinaryIO

import numpy as np

from geeps_caffe.data.database import missing
from geeps_caffe.device.array import Array, count
from geeps_caffe.errors import DataError

_OPENERS: dict[str, Callable[[str], Any]] = {
    ".gz": gzip.open,
    ".xz": lzma.open,
    ".bz2": bz2.open,
}
_UNSIGNED_BYTES = 0x08


def read_compressed(path: str) -> bytes:
    """The bytes of a file, unpacked by its ending; `path` may lack the ending.

    Raises:
        DataError: the file is missing or damaged.
    """
    found = next(
        (p for p in (path, *(path + e for e in _OPENERS)) if os.path.isfile(p)), ""
    )
    if not found:
        raise DataError(missing(path, "file"))
    opener = _OPENERS.get(os.path.splitext(found)[1], _open)
    try:
        with opener(found) as file:
            content: bytes = file.read()
    except (OSError, EOFError, lzma.LZMAError, zlib.error) as error:
        raise DataError(f"file {found!r} can't be read: {error}") from error
    return content


def read_idx(path: str, axes: int) -> Array:
    """The array of an IDX file of unsigned bytes with this number of axes.

    Raises:
        DataError: the file is missing, or is another kind of file.
    """
    content = read_compressed(path)
    head = 4 + 4 * axes
    magic = int.from_bytes(content[:4], "big")
    if len(content) < head or magic != _UNSIGNED_BYTES << 8 | axes:
        kind = "images" if axes == 3 else "labels"
        raise DataError(
            f"{path!r} is no IDX file of {kind}: its first number is {magic}, expected "
            f"{_UNSIGNED_BYTES << 8 | axes}"
        )
    shape = tuple(np.frombuffer(content, ">i4", axes, 4).tolist())
    if len(content) - head != count(shape):
        raise DataError(
            f"{path!r} is cut off: it says shape {shape} and has "
            f"{len(content) - head} bytes"
        )
    return np.frombuffer(content, np.uint8, offset=head).reshape(shape)


def read_digits(images: str, labels: str) -> tuple[Array, Array]:
    """MNIST's images (N, rows, columns) and labels (N,), uint8.

    Raises:
        DataError: a file is missing, is another kind, or their lengths differ.
    """
    pixels, classes = read_idx(images, 3), read_idx(labels, 1)
    if len(pixels) != len(classes):
        raise DataError(
            f"{images!r} has {len(pixels)} images, {labels!r} has {len(classes)} labels"
        )
    return pixels, classes


def _open(path: str) -> BinaryIO:
    return open(path, "rb")
