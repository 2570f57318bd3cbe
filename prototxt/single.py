"""Files with one array (.binaryproto): means and infogain matrices."""

from typing import BinaryIO

import numpy as np
import numpy.typing as npt

from prototxt.blobs import Array, index_blob
from prototxt.encode import blob_parts, write_file
from prototxt.errors import PrototxtError
from prototxt.files import FilePath, binary_kind, is_text, map_file


def read_blob(path: FilePath) -> npt.NDArray[np.float32]:
    """Read a file with one array: a mean file, or an infogain matrix.

    Returns:
        The array in the shape that the file says; a mean file has (1, C, H, W).
    """
    wire = map_file(path)
    if is_text(bytes(wire.buffer[:4096])):
        text = "this is a text file where an array (.binaryproto) was expected"
        raise PrototxtError(text, wire.path)
    kind = binary_kind(wire.buffer, wire.path)
    if kind in ("weights", "state"):
        text = f"this is a file of {kind} where an array (.binaryproto) was expected"
        raise PrototxtError(text, wire.path)
    return index_blob(wire, 0, len(wire)).array()


def write_blob(target: FilePath | BinaryIO, array: Array, legacy: bool = True) -> int:
    """Write a file with one array, as compute_image_mean does.

    Args:
        target: a file name or an open file.
        array: the values.
        legacy: write a 4-D shape in the old fields, which every Caffe reads.

    Returns:
        The size of the file in bytes.
    """
    return write_file(target, blob_parts(array, legacy=legacy))
