"""Convolution, forward and backward."""

from dataclasses import replace

from geeps_caffe.device.array import Shape
from geeps_caffe.engines.engine import Request
from geeps_caffe.engines.onednn.constants import MAX_SPATIAL, Algorithm
from geeps_caffe.engines.onednn.layouts import View, images, view
from geeps_caffe.engines.onednn.recipe import Kit, Recipe, port_shapes
from geeps_caffe.engines.onednn.weighted import Maker, Weighted, backward, forward
from geeps_caffe.engines.operations import Convolution, Deconvolution, Window

_FEW_CHANNELS = 4  # their gradient in blocks of 16 channels is mostly padding
#: Where blocks make so much more arithmetic, they are slower than channels last.
#: (LeNet's conv2, 20 to 50 channels: twice the work; a step took 9.1 ms, now 7.8.)
_WASTE, _BLOCK, _GOOD = 1.5, 16, "brgconv:avx512"


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
    many = operation.group == 1 and channels >= _FEW_CHANNELS
    if many and _padding(channels, outputs) >= _WASTE:
        what = _channels_last(kit, what)
    return (forward if request.direction == "forward" else backward)(kit, request, what)


def _padding(channels: int, outputs: int) -> float:
    """How many times the arithmetic grows where channels come in blocks."""
    padded = -(-channels // _BLOCK) * -(-outputs // _BLOCK) * _BLOCK**2
    return padded / (channels * outputs)


def _channels_last(kit: Kit, what: Weighted) -> Weighted:
    """The same without padded channels, where oneDNN has good code for that."""
    found = replace(what, channels_last=True)
    make = Maker(replace(kit, post_ops=()), found)
    hint = make.forward(make.weights())
    if hint is None or not hint.implementation.startswith(_GOOD):
        return what
    passes = (
        make.backward_weights(make.weights(), what.bias is not None, hint),
        make.backward_data(make.weights(), make.top(), hint),
    )
    return found if all(p and "avx512" in p.implementation for p in passes) else what


def geometry(operation: Convolution | Deconvolution) -> tuple[Window, ...]:
    """Strides, dilations (oneDNN's 0 is Caffe's 1), padding left and right."""
    dilates = tuple(d - 1 for d in operation.dilation)
    return (operation.stride, dilates, operation.pad, operation.pad)


def grouped(weights: Shape, group: int) -> Shape:
    """Weights with an axis for the groups in front, where there are several."""
    if group == 1:
        return weights
    return (group, weights[0] // group, *weights[1:])
