"""What convolution, deconvolution and inner product share: weights.

Forward lets oneDNN choose how the weights lie, and the table keeps them so. Backward
is two primitives in one call, one for the bottom and one for the params, each there
only where its gradient is asked for. Both read the top's diff in one layout.
"""

from collections.abc import Callable
from dataclasses import dataclass

from geeps_caffe.engines.engine import Request, plain_layout
from geeps_caffe.engines.onednn.constants import Algorithm, Arg, Prop, Query
from geeps_caffe.engines.onednn.descriptors import Md, PrimitiveDesc
from geeps_caffe.engines.onednn.layouts import View
from geeps_caffe.engines.onednn.recipe import Kit, Recipe, Uses


@dataclass(frozen=True)
class Weighted:
    """An operation's arrays as oneDNN sees them, and the rest of its arguments."""

    kind: str  # "convolution"
    algorithm: tuple[Algorithm, ...]
    geometry: tuple[tuple[int, ...], ...]
    bottom: View
    top: View
    weights: View
    bias: View | None
    plain_bottom: bool = False  # else oneDNN chooses
    plain_top: bool = False
    plain_bottom_diff: bool = False
    plain_weights: bool = False
    channels_last: bool = False  # bottom and top: no channels are padded


class Maker:
    """Makes the descriptors of one operation's primitives."""

    def __init__(self, kit: Kit, what: Weighted) -> None:
        self.api = kit.api
        self.attributes = kit.attributes  # of the forward pass
        self.what = what

    def bottom(self, plain: bool) -> Md:
        """The bottom, plain or as oneDNN likes it."""
        return self._free(self.what.bottom, plain)

    def top(self) -> Md:
        """The top, plain or as oneDNN likes it."""
        return self._free(self.what.top, self.what.plain_top)

    def weights(self) -> Md:
        """The weights, plain or as oneDNN likes them."""
        view = self.what.weights
        if self.what.plain_weights:
            return self.api.permuted(self.api.plain(view.dims), view.order)
        return self.api.any(view.logical)

    def bias(self) -> Md | None:
        """The bias, where there is one."""
        return self.api.plain(self.what.bias.logical) if self.what.bias else None

    def forward(self, weights: Md, training: bool = True) -> PrimitiveDesc | None:
        """bottom, weights and bias to top."""
        prop = Prop.FORWARD_TRAINING if training else Prop.FORWARD_INFERENCE
        bottom = self.bottom(self.what.plain_bottom)
        arrays = (bottom, weights, self.bias(), self.top())
        return self._make("forward", (prop,), arrays, None)

    def backward_weights(
        self, weights: Md, bias: bool, hint: PrimitiveDesc
    ) -> PrimitiveDesc | None:
        """bottom and top's diff to the diffs of weights and bias."""
        bottom = self.bottom(self.what.plain_bottom)
        arrays = (bottom, weights, self.bias() if bias else None, self.top())
        return self._make("backward_weights", (), arrays, hint)

    def backward_data(
        self, weights: Md, top_diff: Md, hint: PrimitiveDesc
    ) -> PrimitiveDesc | None:
        """weights and top's diff to bottom's diff."""
        what = self.what
        bottom = self.bottom(what.plain_bottom or what.plain_bottom_diff)
        return self._make("backward_data", (), (bottom, weights, top_diff), hint)

    def _free(self, view: View, plain: bool) -> Md:
        if plain:
            return self.api.plain(view.logical)
        if self.what.channels_last:
            return self.api.channels_last(view.logical)
        return self.api.any(view.logical)

    def _make(
        self,
        direction: str,
        prop: tuple[Prop, ...],
        arrays: tuple[Md | None, ...],
        hint: PrimitiveDesc | None,
    ) -> PrimitiveDesc | None:
        what = self.what
        values = (*prop, *what.algorithm, *arrays, *what.geometry)
        kind = f"{what.kind}_{direction}"
        attributes = self.attributes if direction == "forward" else None
        desc = self.api.primitive_desc(kind, *values, hint=hint, attributes=attributes)
        return None if desc is None or desc.slow else desc


def with_given(
    make: Callable[[Md], PrimitiveDesc | None],
    free: PrimitiveDesc,
    chosen: Query,
    given: Md | None,
) -> PrimitiveDesc:
    """`free`, or its twin for the given layout if oneDNN has the same code for that."""
    twin = _twin(make, free, chosen, given)
    return twin if twin.implementation == free.implementation else free


def _twin(
    make: Callable[[Md], PrimitiveDesc | None],
    free: PrimitiveDesc,
    chosen: Query,
    given: Md | None,
) -> PrimitiveDesc:
    if given is None or free.md(chosen).same(given):
        return free
    return make(given) or free


def forward(kit: Kit, request: Request, what: Weighted) -> Recipe | None:
    """The forward pass; asks for oneDNN's favourite layouts."""
    make = Maker(kit, what)
    desc = make.forward(make.weights(), request.training)
    if desc is None:
        return None
    # Whatever code reads the table as it is: no copy of all weights at each step.
    table = kit.given(request, "param0", what.weights)
    desc = _twin(
        lambda md: make.forward(md, request.training), desc, Query.WEIGHTS, table
    )
    recipe = Recipe(kit)
    uses: Uses = {
        Arg.SRC: ("bottom0", desc.md(Query.SRC)),
        Arg.WEIGHTS: ("param0", desc.md(Query.WEIGHTS)),
        Arg.DST: ("top0", desc.md(Query.DST)),
    }
    if what.bias:
        uses[Arg.BIAS] = ("param1", kit.api.plain(what.bias.logical))
    _name_ports(recipe, what, uses)
    recipe.run(desc, uses)
    return recipe


def backward(kit: Kit, request: Request, what: Weighted) -> Recipe | None:
    """The backward pass: the gradients that the request names."""
    make = Maker(kit, what)
    hint = make.forward(make.weights())
    if hint is None:
        return None
    recipe = Recipe(kit)
    top_diff = make.top()
    if not {"param0.diff", "param1.diff"}.isdisjoint(request.shapes):
        found = _backward_params(recipe, request, make, hint)
        if found is None:
            return None
        top_diff = found
    if "bottom0.diff" in request.shapes and not _backward_bottom(
        recipe, request, make, hint, top_diff
    ):
        return None
    return recipe


def _backward_params(
    recipe: Recipe, request: Request, make: Maker, hint: PrimitiveDesc
) -> Md | None:
    """Add the params' gradients; returns how the top's diff is read."""
    kit, what = recipe.kit, make.what
    bias = "param1.diff" in request.shapes
    desc = make.backward_weights(make.weights(), bias, hint)
    if desc is None:
        return None
    table = _diff_layout(kit, request, what)
    if table is None:
        return None
    desc = with_given(
        lambda md: make.backward_weights(md, bias, hint),
        desc,
        Query.DIFF_WEIGHTS,
        table,
    )
    made = desc.md(Query.DIFF_WEIGHTS)
    wanted = "param0.diff" in request.shapes
    direct = wanted and made.same(table)
    uses: Uses = {
        Arg.SRC: ("bottom0", desc.md(Query.SRC)),
        Arg.DIFF_DST: ("top0.diff", desc.md(Query.DIFF_DST)),
        Arg.DIFF_WEIGHTS: ("param0.diff" if direct else recipe.temporary(made), made),
    }
    if bias and what.bias:
        uses[Arg.DIFF_BIAS] = ("param1.diff", kit.api.plain(what.bias.logical))
    _name_ports(recipe, what, uses)
    recipe.run(desc, uses)
    if wanted and not direct:
        recipe.port("param0.diff", table, what.weights)
        if not recipe.copy(uses[Arg.DIFF_WEIGHTS], ("param0.diff", table)):
            return None
    return desc.md(Query.DIFF_DST)


def _backward_bottom(
    recipe: Recipe,
    request: Request,
    make: Maker,
    hint: PrimitiveDesc,
    top_diff: Md,
) -> bool:
    """Add the bottom's gradient; False where oneDNN can't."""
    kit, what = recipe.kit, make.what
    desc = make.backward_data(make.weights(), top_diff, hint)
    if desc is None:  # not from this layout of the top's diff: reorder it here
        desc = make.backward_data(make.weights(), make.top(), hint)
    if desc is None:
        return False
    table = kit.given(request, "param0", what.weights)
    read = desc.md(Query.DIFF_DST)
    desc = with_given(
        lambda md: make.backward_data(md, read, hint), desc, Query.WEIGHTS, table
    )
    source = ("top0.diff", read)
    if "top0.diff" in recipe.layouts and not top_diff.same(read):
        source = (recipe.temporary(read), read)
        if not recipe.copy(("top0.diff", top_diff), source):
            return False
    uses: Uses = {
        Arg.DIFF_DST: source,
        Arg.WEIGHTS: ("param0", desc.md(Query.WEIGHTS)),
        Arg.DIFF_SRC: ("bottom0.diff", desc.md(Query.DIFF_SRC)),
    }
    _name_ports(recipe, what, uses)
    recipe.run(desc, uses)
    return True


def _diff_layout(kit: Kit, request: Request, what: Weighted) -> Md | None:
    """How the weights' gradient must be delivered: as the table has the weights.

    None where the table's layout was made for weights of other axes.
    """
    given = request.given.get("param0")
    return kit.layouts.find(given or plain_layout(what.weights.shape), what.weights)


def _name_ports(recipe: Recipe, what: Weighted, uses: Uses) -> None:
    views = {"bottom0": what.bottom, "top0": what.top, "param0": what.weights}
    if what.bias:
        views["param1"] = what.bias
    for name, md in uses.values():
        port = name.removesuffix(".diff")
        if port in views and name not in recipe.layouts:
            recipe.port(name, md, views[port])
