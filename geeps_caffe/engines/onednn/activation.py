"""ReLU, ELU, sigmoid and tanh, in whatever layout the array has.

Backward reads the top alone, so that a layer may run in place.
"""

from geeps_caffe.device.array import count
from geeps_caffe.engines.engine import Request
from geeps_caffe.engines.onednn.constants import Algorithm, Arg, Prop
from geeps_caffe.engines.onednn.descriptors import Md, PrimitiveDesc
from geeps_caffe.engines.onednn.layouts import View, is_plain, view
from geeps_caffe.engines.onednn.recipe import Kit, Recipe
from geeps_caffe.engines.operations import Activation

ALGORITHMS = {
    "relu": Algorithm.RELU,
    "elu": Algorithm.ELU,
    "sigmoid": Algorithm.LOGISTIC,
    "tanh": Algorithm.TANH,
}


def make_activation(kit: Kit, request: Request) -> Recipe | None:
    """The recipe of either pass; None for a negative slope (the bottom is needed)."""
    operation = request.operation
    assert isinstance(operation, Activation)
    if operation.alpha < 0:
        return None
    forward = request.direction == "forward"
    seen, md = _lie(kit, request, "bottom0" if forward else "top0")
    numbers = (float(operation.alpha), 0.0)
    algorithm = ALGORITHMS[operation.kind]
    desc = kit.api.primitive_desc(
        "eltwise_forward", Prop.FORWARD_TRAINING, algorithm, md, md, *numbers
    )
    names = {Arg.SRC: "bottom0", Arg.DST: "top0"}
    if desc is not None and not forward:
        desc = kit.api.primitive_desc(
            "eltwise_backward", algorithm, md, md, md, *numbers, hint=desc
        )
        names = {
            Arg.DST: "top0",
            Arg.DIFF_DST: "top0.diff",
            Arg.DIFF_SRC: "bottom0.diff",
        }
    return _recipe(kit, desc, names, seen, md)


def _lie(kit: Kit, request: Request, port: str) -> tuple[View, Md]:
    """How the arrays lie: as given, or a plain one as one long row.

    Sigmoid makes 0.5 of a padded 0, so padded layouts have no tuned code for it.
    """
    shape = request.shapes[port]
    given = kit.given(request, port, view(shape))
    assert isinstance(request.operation, Activation)
    padded = given is not None and given.padded_dims != given.dims
    unfit = padded and request.operation.kind == "sigmoid"
    if given is None or unfit or is_plain(given):
        row = View(shape, (count(shape),))
        return row, kit.api.plain(row.dims)
    return view(shape), given


def _recipe(
    kit: Kit,
    desc: PrimitiveDesc | None,
    names: dict[Arg, str],
    seen: View,
    md: Md,
) -> Recipe | None:
    if desc is None or desc.slow:
        return None
    recipe = Recipe(kit)
    for name in names.values():
        recipe.port(name, md, seen)
    recipe.run(desc, {arg: (name, md) for arg, name in names.items()})
    return recipe
