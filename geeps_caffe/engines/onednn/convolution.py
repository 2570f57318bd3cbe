"""Convolution, forward and backward."""

from geeps_caffe.device.array import Shape
from geeps_caffe.engines.engine import Request
from geeps_caffe.engines.onednn.constants import MAX_SPATIAL, Algorithm
from geeps_caffe.engines.onednn.layouts import View, images, view
from geeps_caffe.engines.onednn.recipe import Kit, Recipe, port_shapes
from geeps_caffe.engines.onednn.weighted import Weighted, backward, forward
from geeps_caffe.engines.operations import Convolution, Deconvolution, Window

_FEW_CHANNELS = 4  # their gradient in blocks of 16 channels is mostly padding


def make_convolution(kit: Kit, request: Request) -> Recipe | None:
    """The recipe of either pass."""
    operation = request.operation
    assert isinstance(operation, Convolution)
    axes = len(operation.kernel)
    if not 1 <= axes <= MAX_SPATIAL:
        return None
    bottom, top = (images(shape, axes) for shape in port_shapes(request))
    outputs, channels = top.dims[1], bottom.dims[1] // operation.group
    weights = (outputs, channels, *operation.kernel)
    what = Weighted(
        "convolution",
        (Algorithm.CONVOLUTION_DIRECT,),
        geometry(operation),
        bottom,
        top,
        View(weights, grouped(weights, operation.group)),
        view((outputs,)) if operation.bias else None,
        plain_bottom_diff=channels < _FEW_CHANNELS,
    )
    return (forward if request.direction == "forward" else backward)(kit, request, what)


def geometry(operation: Convolution | Deconvolution) -> tuple[Window, ...]:
    """Strides, dilations (oneDNN's 0 is Caffe's 1), padding left and right."""
    dilates = tuple(d - 1 for d in operation.dilation)
    return (operation.stride, dilates, operation.pad, operation.pad)


def grouped(weights: Shape, group: int) -> Shape:
    """Weights with an axis for the groups in front, where there are several."""
    if group == 1:
        return weights
    return (group, weights[0] // group, *weights[1:])
