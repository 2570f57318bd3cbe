"""Weighted sums of arrays of one shape."""

from geeps_caffe.engines.engine import Layout, Request
from geeps_caffe.engines.onednn.constants import (
    MULTIPLE_SRC,
    SECOND_SRC,
    Algorithm,
    Arg,
    Prop,
)
from geeps_caffe.engines.onednn.descriptors import Md
from geeps_caffe.engines.onednn.layouts import view
from geeps_caffe.engines.onednn.recipe import Kit, Recipe, Uses
from geeps_caffe.engines.operations import Sum


def make_sum(kit: Kit, request: Request) -> Recipe | None:
    """The recipe of either pass."""
    operation = request.operation
    assert isinstance(operation, Sum)
    if request.direction == "forward":
        return _forward(kit, request, operation)
    return _backward(kit, request, operation)


def most_common(request: Request, ports: list[str]) -> str:
    """The port whose layout most of `ports` have; a blocked one where undecided."""
    layouts = [request.given.get(port, Layout("plain", 0)) for port in ports]
    names = [layout.name for layout in layouts]
    weight = {name: (names.count(name), name != "plain") for name in names}
    return ports[names.index(max(names, key=lambda name: weight[name]))]


def _forward(kit: Kit, request: Request, operation: Sum) -> Recipe | None:
    bottoms = [f"bottom{i}" for i in range(len(operation.coefficients))]
    md = kit.as_given(request, most_common(request, bottoms))
    if kit.post_ops:
        return _pair(kit, request, operation, md)
    scales = [float(c) for c in operation.coefficients]
    mds = [md] * len(scales)
    desc = kit.api.primitive_desc("sum", md, len(mds), scales, mds)
    if desc is None:
        return None
    recipe = Recipe(kit)
    uses: Uses = {Arg.DST: ("top0", md)}
    for i, name in enumerate(bottoms):
        uses[MULTIPLE_SRC + i] = (name, md)
    for name, _ in uses.values():
        recipe.port(name, md, view(request.shapes[name]))
    recipe.run(desc, uses)
    return recipe


def _pair(kit: Kit, request: Request, operation: Sum, md: Md) -> Recipe | None:
    """The plain sum of two: a primitive that takes post-ops."""
    if operation.coefficients != (1.0, 1.0):
        return None
    desc = kit.api.primitive_desc(
        "binary", Algorithm.ADD, md, md, md, attributes=kit.attributes
    )
    if desc is None or desc.slow:
        return None
    recipe = Recipe(kit)
    uses: Uses = {
        Arg.SRC: ("bottom0", md),
        SECOND_SRC: ("bottom1", md),
        Arg.DST: ("top0", md),
    }
    for name, _ in uses.values():
        recipe.port(name, md, view(request.shapes[name]))
    recipe.run(desc, uses)
    return recipe


def _backward(kit: Kit, request: Request, operation: Sum) -> Recipe | None:
    md = kit.as_given(request, "top0.diff")
    seen = view(request.shapes["top0.diff"])
    recipe = Recipe(kit)
    recipe.port("top0.diff", md, seen)
    for i, coefficient in enumerate(operation.coefficients):
        name = f"bottom{i}.diff"
        if name in request.shapes:
            recipe.port(name, md, seen)
            if not _scale(recipe, md, float(coefficient), name):
                return None
    return recipe


def _scale(recipe: Recipe, md: Md, coefficient: float, target: str) -> bool:
    source = ("top0.diff", md)
    if coefficient == 1.0:
        return recipe.copy(source, (target, md))
    desc = recipe.kit.api.primitive_desc(
        "eltwise_forward",
        Prop.FORWARD_INFERENCE,
        Algorithm.LINEAR,
        md,
        md,
        coefficient,
        0.0,
    )
    if desc is None:
        return False
    recipe.run(desc, {Arg.SRC: source, Arg.DST: (target, md)})
    return True
