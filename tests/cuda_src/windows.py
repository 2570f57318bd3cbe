"""The table of windows that kernels read."""

from math import prod

import numpy as np


def table(kernel, stride, pad, dilation, image, out):
    """Six numbers for each of three axes; axes that are missing are of 1."""
    rows = list(zip(kernel, stride, pad, dilation, image, out, strict=True))
    return np.array([(1, 1, 0, 1, 1, 1)] * (3 - len(rows)) + rows, np.int32)


CASES = [  # kernel, stride, pad, dilation, image
    ((3,), (2,), (1,), (1,), (9,)),
    ((3, 2), (2, 1), (1, 0), (1, 1), (7, 8)),
    ((2, 2), (3, 3), (0, 0), (1, 1), (8, 8)),
    ((3, 3), (1, 2), (2, 1), (2, 3), (9, 12)),
    ((2, 3, 2), (1, 2, 1), (1, 0, 1), (1, 1, 2), (4, 5, 6)),
]
UNDILATED = [case for case in CASES if max(case[3]) == 1]


def outs(kernel, stride, pad, dilation, image):
    """Caffe's number of windows of a convolution."""
    axes = zip(image, kernel, stride, pad, dilation, strict=True)
    return tuple((i + 2 * p - d * (k - 1) - 1) // s + 1 for i, k, s, p, d in axes)


def counts(case):
    """Pixels of the image, places of the kernel, and windows."""
    return prod(case[4]), prod(case[0]), prod(outs(*case))
