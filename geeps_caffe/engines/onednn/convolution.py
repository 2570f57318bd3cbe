"""Convolution, forward and backward."""

from dataclasses import dataclass, replace

from geeps_caffe.device.array import Shape
from geeps_caffe.engines.engine import Request
from geeps_caffe.engines.onednn.constants import MAX_SPATIAL, Algorithm
from geeps_caffe.engines.onednn.folded import fold_bottom, fold_pays
from geeps_caffe.engines.onednn.layouts import View, images, view
from geeps_caffe.engines.onednn.recipe import Kit, Recipe, port_shapes
from geeps_caffe.engines.onednn.threads import openmp_threads
from geeps_caffe.engines.onednn.weighted import Maker, Weighted, backward, forward
from geeps_caffe.engines.operations import Convolution, Deconvolution, Window

_FEW_CHANNELS = 4  # their gradient in blocks of 16 channels is mostly padding


@dataclass(frozen=True)
class _Blocks:
    """Where channels last are faster than blocks of channels.

    Mostly where blocks make much padding. Named by the vector instructions in the
    names of oneDNN's code.
    """

    vectors: str
    block: int  # channels
    waste: float  # how many times the arithmetic must grow
    forward: str  # how the code must be called that is fast with channels last
    plain: tuple[int, ...]  # numbers of channels for which there is code of its own
    vendor: str = ""  # of the processors that it is so for; empty: all
    groups: bool = False  # whether it holds for channels in groups too


_BLOCKS = (
    #: AlexNet's conv2 took 117 ms in blocks, 84 so; steps of AlexNet, GoogLeNet,
    #: ResNet-50 and VGG-16 8 to 20 % less. Windows of 1x1 have other code, which is no
    #: slower in blocks.
    _Blocks("avx512", 16, 1.0, "brgconv:avx512", (1, 2, 3), "GenuineIntel", True),
    #: LeNet's conv2, 20 to 50 channels: twice the work; a step took 9.1 ms, then 7.8.
    _Blocks("avx512", 16, 1.5, "brgconv:avx512", (1, 2, 3)),
    #: The params' gradient of LeNet's conv1, 1 to 20 channels: 5.4 ms, then 0.7; the
    #: passes of conv2 together 7.8 and 6.6.
    _Blocks("avx2", 8, 1.2, "", (3,)),
)


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
    blocks = _slower(kit, what, operation.group)
    if blocks is not None:
        what = replace(what, channels_last=True, plain_bottom_diff=False)
    if request.direction == "forward":
        return forward(kit, request, what)
    if blocks is not None and fold_pays(what, blocks.block):
        found = _folded(kit, request, what)
        if found is not None:
            return found
    return backward(kit, request, what)


def _folded(kit: Kit, request: Request, what: Weighted) -> Recipe | None:
    """The backward pass with the bottom's gradient made another way."""
    shapes = {port: s for port, s in request.shapes.items() if port != "bottom0.diff"}
    recipe = backward(kit, replace(request, shapes=shapes), what)
    if recipe is None or len(shapes) == len(request.shapes):
        return recipe
    table = kit.given(request, "param0", what.weights)
    return recipe if fold_bottom(recipe, what, table) else None


def _slower(kit: Kit, what: Weighted, group: int) -> _Blocks | None:
    """The blocks that channels last are faster than, if oneDNN has code for these."""
    last = replace(what, channels_last=True, plain_bottom_diff=False)
    for blocks in _BLOCKS:
        if not _may_pay(blocks, what, group, kit.vendor):
            continue
        question = last, blocks, openmp_threads(kit.api.library)
        if question not in kit.known:
            kit.known[question] = _has_code(kit, last, blocks)
        if kit.known[question]:
            return blocks
    return None


def _may_pay(blocks: _Blocks, what: Weighted, group: int, vendor: str) -> bool:
    """Whether channels last are faster, if there is code."""
    if blocks.vendor not in ("", vendor) or (group > 1 and not blocks.groups):
        return False
    channels, outputs = what.bottom.dims[1] // group, what.top.dims[1] // group
    if channels in blocks.plain:
        return False
    return _padding(channels, outputs, blocks.block) >= blocks.waste


def _padding(channels: int, outputs: int, block: int) -> float:
    """How many times the arithmetic grows where channels come in blocks."""
    padded = -(-channels // block) * -(-outputs // block) * block**2
    return padded / (channels * outputs)


def _has_code(kit: Kit, what: Weighted, blocks: _Blocks) -> bool:
    """Whether all passes have code for these vectors."""
    bare = replace(kit, post_ops=())
    make = Maker(bare, what)
    hint = make.forward(make.weights())
    if hint is None or not hint.implementation.startswith(blocks.forward):
        return False
    if not blocks.forward:
        free = Maker(bare, replace(what, channels_last=False))
        usual = free.forward(free.weights())
        if usual is None or blocks.vectors not in usual.implementation:
            return False  # this processor has others
    passes = (
        hint,
        make.backward_weights(make.weights(), what.bias is not None, hint),
        make.backward_data(make.weights(), make.top(), hint),
    )
    return all(p and blocks.vectors in p.implementation for p in passes)


def geometry(operation: Convolution | Deconvolution) -> tuple[Window, ...]:
    """Strides, dilations (oneDNN's 0 is Caffe's 1), padding left and right."""
    dilates = tuple(d - 1 for d in operation.dilation)
    return (operation.stride, dilates, operation.pad, operation.pad)


def grouped(weights: Shape, group: int) -> Shape:
    """Weights with an axis for the groups in front, where there are several."""
    if group == 1:
        return weights
    return (group, weights[0] // group, *weights[1:])
