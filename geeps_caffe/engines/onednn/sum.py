"""Weighted sums of arrays of one shape."""

from geeps_caffe.engines.engine import Layout, Request
from geeps_caffe.engines.onednn.constants import (
    FLOAT_BYTES,
    MULTIPLE_SRC,
    SECOND_SRC,
    Algorithm,
    Arg,
    Prop,
    post_op_src,
)
from geeps_caffe.engines.onednn.descriptors import Md, combine
from geeps_caffe.engines.onednn.layouts import view
from geeps_caffe.engines.onednn.recipe import Kit, Recipe, Uses
from geeps_caffe.engines.operations import Sum

_MOST = 30  # arrays in one primitive; oneDNN has 32 places for what follows a sum


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
    plain = set(operation.coefficients) == {1.0} and 2 <= len(bottoms) <= _MOST
    if not plain and kit.post_ops:
        return None
    recipe = Recipe(kit)
    for name in (*bottoms, "top0"):
        recipe.port(name, md, view(request.shapes[name]))
    add = _add_one_by_one if plain else _add_weighted
    return recipe if add(recipe, md, bottoms, operation) else None


def _add_one_by_one(recipe: Recipe, md: Md, bottoms: list[str], operation: Sum) -> bool:
    """A sum of two, to which the others are added before it is written.

    All elements are seen as one row, padding included. (Measured for 64 MB: 0.4 ms;
    oneDNN's sum takes 1.6, since its code is not tuned.)
    """
    del operation
    api, post_ops = recipe.kit.api, recipe.kit.post_ops
    row = api.plain((md.nbytes // FLOAT_BYTES,))
    others = bottoms[2:]
    ops = [combine(Algorithm.ADD, row) for _ in others] + list(post_ops)
    attributes = api.attributes(ops) if ops else None
    desc = api.primitive_desc(
        "binary", Algorithm.ADD, row, row, row, attributes=attributes
    )
    if desc is None or desc.slow:
        return False
    uses: Uses = {Arg.SRC: (bottoms[0], row), SECOND_SRC: (bottoms[1], row)}
    uses |= {post_op_src(i): (name, row) for i, name in enumerate(others)}
    recipe.run(desc, {**uses, Arg.DST: ("top0", row)})
    return True


def _add_weighted(recipe: Recipe, md: Md, bottoms: list[str], operation: Sum) -> bool:
    """By oneDNN's sum."""
    scales = [float(c) for c in operation.coefficients]
    mds = [md] * len(scales)
    desc = recipe.kit.api.primitive_desc("sum", md, len(mds), scales, mds)
    if desc is None:
        return False
    uses: Uses = {MULTIPLE_SRC + i: (name, md) for i, name in enumerate(bottoms)}
    recipe.run(desc, {**uses, Arg.DST: ("top0", md)})
    return True


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
