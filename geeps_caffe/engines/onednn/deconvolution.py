"""Deconvolution, forward and backward."""

from geeps_caffe.engines.engine import Request
from geeps_caffe.engines.onednn.constants import MAX_SPATIAL, Algorithm
from geeps_caffe.engines.onednn.convolution import geometry, grouped
from geeps_caffe.engines.onednn.layouts import View, images, view
from geeps_caffe.engines.onednn.recipe import Kit, Recipe, port_shapes
from geeps_caffe.engines.onednn.weighted import Weighted, backward, forward
from geeps_caffe.engines.operations import Deconvolution


def make_deconvolution(kit: Kit, request: Request) -> Recipe | None:
    """The recipe of either pass.

    Caffe's weights are (C, K / group, ...), oneDNN's (group, K / group, C / group,
    ...): a reshape, then the two channel axes swapped.
    """
    operation = request.operation
    assert isinstance(operation, Deconvolution)
    axes = len(operation.kernel)
    if not 1 <= axes <= MAX_SPATIAL:
        return None
    bottom, top = (images(shape, axes) for shape in port_shapes(request))
    group, outputs = operation.group, top.dims[1]
    weights = (bottom.dims[1], outputs // group, *operation.kernel)
    what = Weighted(
        "deconvolution",
        (Algorithm.DECONVOLUTION_DIRECT,),
        geometry(operation),
        bottom,
        top,
        View(weights, grouped(weights, group), swap=(0, 1) if group == 1 else (1, 2)),
        view((outputs,)) if operation.bias else None,
    )
    return (forward if request.direction == "forward" else backward)(kit, request, what)
