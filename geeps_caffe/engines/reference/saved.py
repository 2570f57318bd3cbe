"""Saved arrays of the net's own number type."""

from geeps_caffe.device.array import Shape, count
from geeps_caffe.engines.engine import SavedArray


def floats(shape: Shape, itemsize: int) -> SavedArray:
    """An array of floats of `itemsize` bytes (4 or 8).

    >>> floats((2, 3), 4)
    SavedArray(nbytes=24, shape=(2, 3), dtype='float32')
    """
    return SavedArray(itemsize * count(shape), shape, f"float{8 * itemsize}")
