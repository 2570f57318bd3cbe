"""Crop: a copy of a window, and zeros around it on the way back."""

import numpy as np

from geeps_caffe.device.array import Array
from geeps_caffe.device.kernels import Call
from geeps_caffe.engines.cuda.kit import Entry, Pass

FILE = "crop.cu"


def _geometry(work: Pass, whole: Array, part: Array) -> tuple[Array, int]:
    """What crop.cu reads: rows of extent, the whole array's extent, begin."""
    rows = zip(part.shape, whole.shape, work.operation.corner, strict=True)
    return work.kit.constant(np.array(list(rows), np.int64)), part.ndim


def forward(work: Pass) -> list[Call]:
    """Copy the window."""
    x, y = work.ports["bottom0"], work.ports["top0"]
    args = (x, y, *_geometry(work, x, y))
    return [work.kernel(FILE, "crop_forward", y.size, *args)]


def backward(work: Pass) -> list[Call]:
    """What was cut off gets zeros."""
    dx, dy = work.ports["bottom0.diff"], work.ports["top0.diff"]
    args = (dy, dx, *_geometry(work, dx, dy))
    return [work.kernel(FILE, "crop_backward", dx.size, *args)]


ENTRY = Entry(forward, backward)
