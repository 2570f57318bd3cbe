"""InnerProduct, forward and backward.

Bottom and top are plain matrices; only the weights are blocked. (Measured: taking a
blocked bottom as it is makes oneDNN fall back to a plain matrix product, which is
ten times slower in one of the three passes, whatever the weights' order.)

With AVX2 the weights are plain too. There the gradient is made by a plain product in
any case, and need not be laid out as blocks; and what reads weights that no cache holds
gains more in one pass than it loses in the other. (AlexNet's fc6, batch 16: 28, 19 and
12 ms with blocks, and the gradient to be reordered; 14, 25 and 10 without.)
"""

from dataclasses import replace

from geeps_caffe.device.array import Shape, count
from geeps_caffe.engines.engine import Request
from geeps_caffe.engines.onednn.layouts import View, view
from geeps_caffe.engines.onednn.part_sums import make_part_sums
from geeps_caffe.engines.onednn.recipe import Kit, Recipe, port_shapes
from geeps_caffe.engines.onednn.weighted import Maker, Weighted, backward, forward
from geeps_caffe.engines.operations import InnerProduct

_PLAIN = "avx2"  # in the name of oneDNN's code


def make_inner_product(kit: Kit, request: Request) -> Recipe | None:
    """The recipe of either pass."""
    operation = request.operation
    assert isinstance(operation, InnerProduct)
    bottom, top = port_shapes(request)
    rows = count(bottom[: operation.axis])
    outputs = count(top) // rows
    what = Weighted(
        "inner_product",
        (),
        (),
        View(bottom, (rows, count(bottom) // rows)),
        View(top, (rows, outputs)),
        weights_view(outputs, count(bottom) // rows, operation.transpose),
        view((outputs,)) if operation.bias else None,
        plain_bottom=True,
        plain_top=True,
    )
    free = Maker(kit, what)
    desc = free.forward(free.weights(), request.training)
    if desc is not None and _PLAIN in desc.implementation:
        what = replace(what, plain_weights=True)
    if request.parts:
        return make_part_sums(kit, request, what.weights)
    return (forward if request.direction == "forward" else backward)(kit, request, what)


def weights_view(outputs: int, inputs: int, transpose: bool) -> View:
    """(N, K) as it is, (K, N) with its axes swapped."""
    shape: Shape = (inputs, outputs) if transpose else (outputs, inputs)
    return View(shape, shape, swap=(0, 1) if transpose else None)
