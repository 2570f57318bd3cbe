"""The gradient that comes from above."""

from geeps_caffe.device.array import Array, ArrayModule
from geeps_caffe.layers.base import Blob


def top_diff(xp: ArrayModule, top: Blob) -> Array:
    """The diff of a top, zeros where it leads to no loss."""
    if top.diff is None:
        zeros: Array = xp.zeros(top.shape, top.data.dtype)
        return zeros
    return top.diff
