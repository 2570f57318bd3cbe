"""Transformer: what is done to an image before a net sees it, and undone after."""

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np

from geeps_caffe.caffe.faults import ArrayError
from geeps_caffe.caffe.images import resize_image
from geeps_caffe.data.mean import read_mean
from geeps_caffe.device.array import Array, Shape
from geeps_caffe.errors import DataError, UsageError, unknown

_LOG = logging.getLogger(__name__)
Mean: TypeAlias = Array | str | Path


class Transformer:
    """Brings images into the form of a net's inputs.

    In this order: resize to the input's rows and columns, transpose, swap channels,
    raw_scale, less the mean, input_scale. `inputs` has the blobs' shapes by name.
    """

    def __init__(self, inputs: Mapping[str, Sequence[int]]) -> None:
        self.inputs = {name: tuple(shape) for name, shape in inputs.items()}
        self.transpose: dict[str, Sequence[int]] = {}
        self.channel_swap: dict[str, Sequence[int]] = {}
        self.raw_scale: dict[str, float] = {}
        self.mean: dict[str, Array] = {}
        self.input_scale: dict[str, float] = {}

    def preprocess(self, in_: str, data: Array) -> Array:
        """An image (H, W, K) as float32 in the input's form, (K, H, W) as a rule."""
        size = self._shape(in_)[2:]
        image = np.array(data, np.float32)
        if image.shape[:2] != size:
            image = resize_image(image, size)
        if in_ in self.transpose:
            image = image.transpose(self.transpose[in_])
        if in_ in self.channel_swap:
            image = image[list(self.channel_swap[in_])]
        image = image * np.float32(self.raw_scale.get(in_, 1))
        if in_ in self.mean:
            image = np.asarray(image - self.mean[in_], np.float32)
        return np.ascontiguousarray(image * np.float32(self.input_scale.get(in_, 1)))

    def deprocess(self, in_: str, data: Array) -> Array:
        """What `preprocess` made, turned back; the size stays."""
        self._shape(in_)
        image = np.array(data, np.float32).squeeze()
        image = image / np.float32(self.input_scale.get(in_, 1))
        if in_ in self.mean:
            image = image + self.mean[in_].astype(np.float32)
        image = image / np.float32(self.raw_scale.get(in_, 1))
        if in_ in self.channel_swap:
            image = image[np.argsort(self.channel_swap[in_])]
        if in_ in self.transpose:
            image = image.transpose(np.argsort(self.transpose[in_]))
        return np.ascontiguousarray(image)

    def set_transpose(self, in_: str, order: Sequence[int]) -> None:
        """The order of axes, (2, 0, 1) for images (H, W, K)."""
        axes = len(self._shape(in_)) - 1
        if len(order) != axes:
            raise ArrayError(f"transpose is {tuple(order)}; expected {axes} axes")
        self.transpose[in_] = order

    def set_channel_swap(self, in_: str, order: Sequence[int]) -> None:
        """The order of channels after the transpose; (2, 1, 0) makes B, G, R of RGB."""
        channels = self._shape(in_)[1]
        if len(order) != channels:
            raise ArrayError(
                f"channel_swap is {tuple(order)}, but input {in_!r} has {channels} "
                "channels"
            )
        self.channel_swap[in_] = order

    def set_raw_scale(self, in_: str, scale: float) -> None:
        """What pixels are multiplied with before the mean; 255 for nets on bytes."""
        self._shape(in_)
        self.raw_scale[in_] = scale

    def set_input_scale(self, in_: str, scale: float) -> None:
        """What is multiplied with at last."""
        self._shape(in_)
        self.input_scale[in_] = scale

    def set_mean(self, in_: str, mean: Mean) -> None:
        """The mean to subtract: a number for each channel, an image, or its file.

        A file is one of compute_image_mean (.binaryproto) or of NumPy (.npy). From a
        larger image the middle is taken, as crops are. A smaller one is enlarged, as
        Caffe does. Either is said in the log.

        Raises:
            ArrayError: it has other channels, or is no image.
            DataError: the file holds no mean.
        """
        shape = self._shape(in_)[1:]
        values = _values(mean)
        image = values[:, None, None] if values.ndim == 1 else values
        image = image[None] if image.ndim == 2 else image
        if image.ndim != 3 or len(image) not in (1, shape[0]):
            raise ArrayError(
                f"the mean has shape {values.shape}, but input {in_!r} has {shape} "
                "(channels, rows, columns); give a number for each channel, or an image"
            )
        self.mean[in_] = image if values.ndim == 1 else _fitted(in_, image, shape)

    def _shape(self, in_: str) -> Shape:
        if in_ not in self.inputs:
            raise UsageError(unknown("input", in_, self.inputs))
        return self.inputs[in_]


def _values(mean: Mean) -> Array:
    if not isinstance(mean, str | Path):
        return np.asarray(mean)
    if str(mean).endswith(".npy"):
        return _read_npy(str(mean))
    return read_mean(str(mean))


def _read_npy(path: str) -> Array:
    try:  # mapped: an array that is larger than its file takes no memory
        with np.errstate(over="raise"):
            found = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, TypeError, EOFError, ArithmeticError) as error:
        raise DataError(f"mean file {path!r} is no array of NumPy: {error}") from error
    if not isinstance(found, np.ndarray) or found.dtype.kind not in "fiu":
        raise DataError(f"mean file {path!r} is no array of numbers")
    return np.array(found)


def _fitted(in_: str, mean: Array, shape: Shape) -> Array:
    """The mean in the rows and columns of the input."""
    rows, columns = shape[1:]
    height, width = mean.shape[1:]
    if (height, width) == (rows, columns):
        return mean
    if height >= rows and width >= columns:
        done = "its middle is taken"
        y, x = (height - rows) // 2, (width - columns) // 2
        fitted = mean[:, y : y + rows, x : x + columns]
    else:
        done = "it is resized"
        image = resize_image(mean.transpose(1, 2, 0), (rows, columns))
        fitted = image.transpose(2, 0, 1)
    _LOG.warning(
        "the mean of input %r is of %d x %d pixels, the input of %d x %d: %s",
        *(in_, height, width, rows, columns, done),
    )
    return fitted
