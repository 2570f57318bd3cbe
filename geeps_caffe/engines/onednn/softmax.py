"""Softmax, on plain arrays."""

from geeps_caffe.device.array import count
from geeps_caffe.engines.engine import Request
from geeps_caffe.engines.onednn.constants import Algorithm, Arg, Prop
from geeps_caffe.engines.onednn.layouts import View
from geeps_caffe.engines.onednn.recipe import Kit, Recipe, port_shapes
from geeps_caffe.engines.operations import Softmax


def make_softmax(kit: Kit, request: Request) -> Recipe | None:
    """The recipe of either pass; backward reads the top alone.

    All axes before and after the one that counts are seen as one each.
    """
    operation = request.operation
    assert isinstance(operation, Softmax)
    shape, _ = port_shapes(request)
    axis = operation.axis % len(shape)
    after = count(shape[axis + 1 :])
    dims = (count(shape[:axis]), shape[axis], *((after,) if after > 1 else ()))
    seen = View(shape, dims)
    md = kit.api.plain(dims)
    algorithm = Algorithm.SOFTMAX_ACCURATE
    desc = kit.api.primitive_desc(
        "softmax_forward", Prop.FORWARD_TRAINING, algorithm, md, md, 1
    )
    names = {Arg.SRC: "bottom0", Arg.DST: "top0"}
    if desc is not None and request.direction == "backward":
        desc = kit.api.primitive_desc(
            "softmax_backward", algorithm, md, md, md, 1, hint=desc
        )
        names = {
            Arg.DST: "top0",
            Arg.DIFF_DST: "top0.diff",
            Arg.DIFF_SRC: "bottom0.diff",
        }
    if desc is None:
        return None
    recipe = Recipe(kit)
    for name in names.values():
        recipe.port(name, md, seen)
    recipe.run(desc, {arg: (name, md) for arg, name in names.items()})
    return recipe
