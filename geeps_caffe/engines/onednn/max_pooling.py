"""MaxPooling; ties go to the first element of a window in both libraries."""

from geeps_caffe.engines.engine import Request
from geeps_caffe.engines.onednn.constants import Algorithm
from geeps_caffe.engines.onednn.pooling import Pooling, make_pooling, pooled_axes
from geeps_caffe.engines.onednn.recipe import Kit, Recipe


def make_max_pooling(kit: Kit, request: Request) -> Recipe | None:
    """The recipe of either pass; None where the mask is wanted as a top.

    oneDNN's own mask counts within the window, in a layout of its own.
    """
    if "top1" in request.shapes:
        return None
    return make_pooling(
        kit, request, Pooling(Algorithm.POOLING_MAX, pooled_axes(request))
    )
