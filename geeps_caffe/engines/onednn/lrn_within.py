"""LRN within channels, in the layout of the bottom."""

from geeps_caffe.engines.engine import Request
from geeps_caffe.engines.onednn.layouts import view
from geeps_caffe.engines.onednn.lrn_parts import Scaling, Summed, make_of_parts
from geeps_caffe.engines.onednn.recipe import Kit, Recipe
from geeps_caffe.engines.operations import LRNWithin


def make_lrn_within(kit: Kit, request: Request) -> Recipe | None:
    """The recipe of either pass; plain where channels do not fill their blocks."""
    operation = request.operation
    assert isinstance(operation, LRNWithin)
    shape, size = request.shapes["bottom0"], operation.size
    if len(shape) != 4 or size % 2 == 0:
        return None
    scaling = Scaling(operation.alpha, operation.beta, 1.0)
    given, plain = kit.as_given(request, "bottom0"), kit.api.plain(shape)
    for md in (given, plain) if given.dims == given.padded_dims else (plain,):
        summed = Summed(md, (size,) * 2, (size // 2,) * 2, combines=bool(md.blocks))
        recipe = make_of_parts(kit, request, scaling, summed, md, view(shape))
        if recipe is not None:
            return recipe
    return None
