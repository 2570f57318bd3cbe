"""An operation and an element-wise function of its top in one primitive. Forward alone.

Only functions that keep 0 at 0, since blocked layouts pad channels with zeros.
"""

from dataclasses import replace

from geeps_caffe.engines.engine import Request
from geeps_caffe.engines.onednn.constants import Algorithm
from geeps_caffe.engines.onednn.convolution import make_convolution
from geeps_caffe.engines.onednn.deconvolution import make_deconvolution
from geeps_caffe.engines.onednn.descriptors import PostOp, apply_function
from geeps_caffe.engines.onednn.inner_product import make_inner_product
from geeps_caffe.engines.onednn.recipe import Kit, Recipe
from geeps_caffe.engines.onednn.sum import make_sum
from geeps_caffe.engines.operations import (
    Activated,
    Convolution,
    Deconvolution,
    InnerProduct,
    Sum,
)

_FUNCTIONS = {
    "relu": Algorithm.RELU,
    "elu": Algorithm.ELU,
    "tanh": Algorithm.TANH,
}
_MAKERS = {
    Convolution: make_convolution,
    Deconvolution: make_deconvolution,
    InnerProduct: make_inner_product,
    Sum: make_sum,
}


def make_activated(kit: Kit, request: Request) -> Recipe | None:
    """The recipe of the operation, with the function before its result is written."""
    operation = request.operation
    assert isinstance(operation, Activated)
    first, then = operation.operation, operation.activation
    make = _MAKERS.get(type(first))
    if make is None or then.kind not in _FUNCTIONS or request.direction != "forward":
        return None
    function = apply_function(_FUNCTIONS[then.kind], then.alpha)
    return make(with_post_ops(kit, (function,)), replace(request, operation=first))


def with_post_ops(kit: Kit, post_ops: tuple[PostOp, ...]) -> Kit:
    """A kit whose operations do this to their result."""
    return replace(kit, post_ops=post_ops)
