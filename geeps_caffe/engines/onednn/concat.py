"""Concatenation, blocked where every part fills its blocks, else plain."""

from geeps_caffe.device.array import Shape
from geeps_caffe.engines.engine import Layout, Request, plain_layout
from geeps_caffe.engines.onednn.constants import MULTIPLE_SRC, Arg
from geeps_caffe.engines.onednn.descriptors import Md
from geeps_caffe.engines.onednn.layouts import view
from geeps_caffe.engines.onednn.recipe import Kit, Recipe, Uses
from geeps_caffe.engines.onednn.sum import most_common
from geeps_caffe.engines.operations import Concat


def make_concat(kit: Kit, request: Request) -> Recipe | None:
    """The recipe of either pass."""
    make = _forward if request.direction == "forward" else _backward
    for layout in _candidates(request):
        recipe = make(kit, request, layout)
        if recipe is not None:
            return recipe
    return None


def _candidates(request: Request) -> list[Layout]:
    """The layout that the inputs have, if it can be had for all; then plain."""
    plain = plain_layout(())
    if request.direction == "forward":
        bottoms = [name for name in request.shapes if name.startswith("bottom")]
        given = request.given.get(most_common(request, sorted(bottoms)), plain)
    else:
        given = request.given.get("top0.diff", plain)
    return [plain] if given.plain or ":" in given.name else [given, plain]


def parts(operation: Concat, request: Request) -> dict[int, tuple[Shape, Shape]]:
    """Each bottom's shape and where it starts in the top, by the bottom's index.

    The request must name all bottoms, with or without their data: a gradient that
    nobody asks for takes its place in the top all the same.
    """
    found: dict[int, tuple[Shape, Shape]] = {}
    start = index = 0
    while (shape := _bottom_shape(request, index)) is not None:
        axis = operation.axis % len(shape)
        found[index] = (shape, tuple(start * (a == axis) for a in range(len(shape))))
        start += shape[axis]
        index += 1
    return found


def _bottom_shape(request: Request, index: int) -> Shape | None:
    name = f"bottom{index}"
    return request.shapes.get(name) or request.shapes.get(f"{name}.diff")


def _forward(kit: Kit, request: Request, layout: Layout) -> Recipe | None:
    operation = request.operation
    assert isinstance(operation, Concat)
    pieces = parts(operation, request)
    top = request.shapes["top0"]
    target = kit.layouts.own(layout, top)
    mds = [kit.layouts.own(layout, shape) for shape, _ in pieces.values()]
    if not _fills_blocks(kit, target, pieces):
        return None
    axis = operation.axis % len(top)
    desc = kit.api.primitive_desc("concat", target, len(mds), axis, mds)
    if desc is None:
        return None
    recipe = Recipe(kit)
    uses: Uses = {Arg.DST: ("top0", target)}
    for i, md in zip(pieces, mds, strict=True):
        uses[MULTIPLE_SRC + i] = (f"bottom{i}", md)
    for name, md in uses.values():
        recipe.port(name, md, view(request.shapes[name]))
    recipe.run(desc, uses)
    return recipe


def _backward(kit: Kit, request: Request, layout: Layout) -> Recipe | None:
    operation = request.operation
    assert isinstance(operation, Concat)
    source = kit.layouts.own(layout, request.shapes["top0.diff"])
    recipe = Recipe(kit)
    recipe.port("top0.diff", source, view(source.dims))
    for i, (shape, start) in parts(operation, request).items():
        name = f"bottom{i}.diff"
        if name not in request.shapes:
            continue
        part = kit.api.part(source, shape, start)
        target = kit.layouts.own(layout, shape)
        if part is None or not recipe.copy(("top0.diff", part), (name, target)):
            return None
        recipe.port(name, target, view(shape))
    return recipe


def _fills_blocks(kit: Kit, target: Md, pieces: dict[int, tuple[Shape, Shape]]) -> bool:
    """Whether no bottom's edge cuts a block of the top."""
    return all(kit.api.part(target, *piece) is not None for piece in pieces.values())
