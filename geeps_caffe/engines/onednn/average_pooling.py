"""AveragePooling by Caffe's rule: a window's divisor is its size in the padded image.

oneDNN divides by the whole kernel, or by what lies in the image. Where neither is
Caffe's divisor everywhere, the first is corrected by a factor for each window.
"""

from functools import reduce

import numpy as np

from geeps_caffe.device.array import Array, allocate
from geeps_caffe.engines.engine import Request
from geeps_caffe.engines.onednn.constants import Algorithm
from geeps_caffe.engines.onednn.pooling import Axis, Pooling, make_pooling, pooled_axes
from geeps_caffe.engines.onednn.recipe import Kit, Recipe


def make_average_pooling(kit: Kit, request: Request) -> Recipe | None:
    """The recipe of either pass."""
    return make_pooling(kit, request, average_rule(pooled_axes(request)))


def average_rule(axes: tuple[Axis, ...]) -> Pooling:
    """What oneDNN is told, so that the divisor is Caffe's.

    Without a window that reaches beyond the right padding the divisor is the whole
    kernel; without padding the clipped window is what lies in the image.
    """
    if all(a.overhang <= a.pad for a in axes):
        return Pooling(Algorithm.POOLING_AVERAGE_WITH_PADDING, axes)
    if all(a.pad == 0 for a in axes):
        return Pooling(Algorithm.POOLING_AVERAGE_WITHOUT_PADDING, axes)
    return Pooling(Algorithm.POOLING_AVERAGE_WITH_PADDING, axes, factors(axes))


def factors(axes: tuple[Axis, ...]) -> Array:
    """The kernel's size over the clipped window's, for each window."""
    whole = reduce(np.multiply.outer, [_factors(axis) for axis in axes])
    block = allocate(4 * whole.size).view(np.float32).reshape(whole.shape)
    block[...] = whole
    return block


def _factors(axis: Axis) -> Array:
    begin = np.arange(axis.windows) * axis.stride - axis.pad
    end = np.minimum(begin + axis.kernel, axis.extent + axis.pad)
    return axis.kernel / np.maximum(end - begin, 1)
