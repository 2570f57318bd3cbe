import pytest

from geeps_caffe.engines.engine import Request
from geeps_caffe.engines.operations import (
    LRN,
    Convolution,
    Deconvolution,
    InnerProduct,
)
from geeps_caffe.schedule.work import batch_of, flops, touched_bytes
from tests.schedule.nets import TINY, graph_of, program_of

CONV = Convolution((3, 3), (1, 1), (1, 1), (1, 1), 2, True)
CONV_SHAPES = {"bottom0": (2, 4, 5, 5), "top0": (2, 6, 5, 5), "param0": (6, 2, 3, 3)}
DECONV = Deconvolution((2, 2), (2, 2), (0, 0), (1, 1), 1, False)
DECONV_SHAPES = {"bottom0": (1, 3, 4, 4), "top0": (1, 5, 8, 8), "param0": (3, 5, 2, 2)}
PRODUCT = InnerProduct(1, False, True)
PRODUCT_SHAPES = {"bottom0": (7, 2, 3), "top0": (7, 4), "param0": (4, 6)}


@pytest.mark.parametrize(
    "operation, shapes, products",
    [
        # For each output: half of the four channels, nine weights each.
        (CONV, CONV_SHAPES, 2 * 6 * 5 * 5 * 2 * 9),
        # For each input: five channels, four weights each.
        (DECONV, DECONV_SHAPES, 3 * 4 * 4 * 5 * 4),
        (PRODUCT, PRODUCT_SHAPES, 7 * 4 * 6),
        (LRN(5, 1, 0.75, 1), {"bottom0": (2, 3, 4, 4), "top0": (2, 3, 4, 4)}, 0),
    ],
)
def test_a_pass_has_two_flops_for_each_product(operation, shapes, products):
    assert flops(Request(operation, "forward", shapes)) == 2 * products
    for wanted in ({"param0.diff"}, {"param0.diff", "bottom0.diff"}):
        more = shapes | {name: shapes.get(name[:-5], (1,)) for name in wanted}
        request = Request(operation, "backward", more)
        assert flops(request) == 2 * products * len(wanted)


def test_the_batch_is_the_first_axis():
    assert batch_of(Request(PRODUCT, "forward", PRODUCT_SHAPES)) == 7


def test_an_instruction_touches_each_of_its_arrays_once():
    program = program_of(graph_of(TINY))
    by_text = {i.text: touched_bytes(program, i) for i in program.instructions}
    assert by_text["forward ip [numpy]"] == 4 * (6 + 12 + 4 + 8)
    assert by_text["forward relu [numpy]"] == 4 * (8 + 8)
    assert by_text["clock"] == 0
