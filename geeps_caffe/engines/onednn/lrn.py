"""LRN across channels.

oneDNN has tuned code for windows of 5 channels and the power 0.75, in blocked layouts
whose channels fill their blocks, where there is AVX-512 (measured at (16, 96, 55, 55):
1.5 and 0.7 ms). Its code for the rest is not tuned (backward 73 to 240 ms); that is
put together from other primitives, see `lrn_parts`. There the sum over neighbouring
channels is a pooling in which pixels play the channels, for which it is vectorized, and
channels the rows of an image one pixel wide; arrays are plain.
"""

from ctypes import c_int64

from geeps_caffe.device.array import Shape, count
from geeps_caffe.engines.engine import Layout, Request
from geeps_caffe.engines.onednn.constants import Algorithm, Arg, Prop, Query
from geeps_caffe.engines.onednn.descriptors import Md, PrimitiveDesc
from geeps_caffe.engines.onednn.layouts import View, view
from geeps_caffe.engines.onednn.lrn_parts import Scaling, Summed, make_of_parts
from geeps_caffe.engines.onednn.recipe import Kit, Recipe, Uses, port_shapes
from geeps_caffe.engines.operations import LRN

_BLOCKED = ("aBcd16b", "aBcd8b")
#: Windows that oneDNN's own code is used for. With channels last it ends the process
#: for one channel; for more than five, gradients are wrong where they fill no vectors.
_RIGHT = (3, 5)


def make_lrn(kit: Kit, request: Request) -> Recipe | None:
    """The recipe of either pass; both choose the same layout for the bottom."""
    shape, _ = port_shapes(request)
    operation = request.operation
    assert isinstance(operation, LRN)
    if len(shape) != 4 or operation.size not in _RIGHT:
        return _of_parts(kit, request)
    given = kit.given(request, "bottom0", view(shape))
    candidates = [] if given is None else [given]
    candidates += [kit.layouts.own(Layout(name, 0), shape) for name in _BLOCKED]
    for md in candidates:
        pair = _pair(kit, request, md, shape)
        if pair is not None:
            make = _forward if request.direction == "forward" else _backward
            return make(kit, request, *pair)
    return _of_parts(kit, request)


def _pair(
    kit: Kit, request: Request, md: Md, shape: Shape
) -> tuple[PrimitiveDesc, PrimitiveDesc] | None:
    """Forward and backward for one layout, where both are quick."""
    operation = request.operation
    assert isinstance(operation, LRN)
    size = c_int64(operation.size)
    numbers = (size, float(operation.alpha), float(operation.beta), float(operation.k))
    algorithm = Algorithm.LRN_ACROSS_CHANNELS
    forward = kit.api.primitive_desc(
        "lrn_forward", Prop.FORWARD_TRAINING, algorithm, md, md, *numbers
    )
    if forward is None or forward.slow:
        return None
    backward = kit.api.primitive_desc(
        "lrn_backward", algorithm, md, md, md, *numbers, hint=forward
    )
    return None if backward is None or backward.slow else (forward, backward)


def _forward(
    kit: Kit, request: Request, desc: PrimitiveDesc, backward: PrimitiveDesc
) -> Recipe:
    del backward
    recipe = Recipe(kit)
    uses: Uses = {
        Arg.SRC: ("bottom0", desc.md(Query.SRC)),
        Arg.DST: ("top0", desc.md(Query.DST)),
    }
    for name, md in uses.values():
        recipe.port(name, md, view(request.shapes[name]))
    workspace = desc.md(Query.WORKSPACE)
    if workspace.ndim and request.training:
        uses[Arg.WORKSPACE] = (recipe.save(workspace), workspace)
    elif workspace.ndim:
        uses[Arg.WORKSPACE] = (recipe.temporary(workspace), workspace)
    recipe.run(desc, uses)
    return recipe


def _backward(
    kit: Kit, request: Request, hint: PrimitiveDesc, desc: PrimitiveDesc
) -> Recipe:
    recipe = Recipe(kit)
    uses: Uses = {
        Arg.SRC: ("bottom0", desc.md(Query.SRC)),
        Arg.DIFF_DST: ("top0.diff", desc.md(Query.DIFF_DST)),
        Arg.DIFF_SRC: ("bottom0.diff", desc.md(Query.DIFF_SRC)),
    }
    for name, md in uses.values():
        recipe.port(name, md, view(request.shapes[name]))
    workspace = hint.md(Query.WORKSPACE)
    if workspace.ndim:
        recipe.saved_port("saved0", workspace.nbytes)
        uses[Arg.WORKSPACE] = ("saved0", workspace)
    recipe.run(desc, uses)
    return recipe


def _of_parts(kit: Kit, request: Request) -> Recipe | None:
    """The recipe of either pass; None for a window without a middle."""
    operation = request.operation
    assert isinstance(operation, LRN)
    shape, _ = port_shapes(request)
    size = operation.size
    if size % 2 == 0 or len(shape) < 2:
        return None
    images, channels, pixels = shape[0], shape[1], count(shape[2:])
    columns = kit.api.strided(
        (images, pixels, channels, 1), (channels * pixels, 1, pixels, pixels)
    )
    summed = Summed(columns, (size, 1), (size // 2, 0), combines=False)
    row = View(shape, (count(shape),))
    scaling = Scaling(operation.alpha, operation.beta, operation.k)
    return make_of_parts(kit, request, scaling, summed, kit.api.plain(row.dims), row)
