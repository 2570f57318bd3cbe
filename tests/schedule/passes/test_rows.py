"""Inner products of 8 MB: programs alone, no arrays."""

import pytest

from geeps_caffe.engines.engine import Layout
from geeps_caffe.schedule.check import check_plan
from geeps_caffe.schedule.passes import NAMES
from geeps_caffe.schedule.plan import make_plan
from tests.schedule.nets import graph_of, program_of
from tests.schedule.odd_engine import OddEngine

INPUT = """
layer { name: "in" type: "Input" top: "data" top: "label"
  input_param { shape { dim: 2 dim: 1024 } shape { dim: 2 } } }
"""
LOSS = """
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "%s" bottom: "label" top: "loss" }
"""


def layer(name, bottom, outputs, more="", params=""):
    return f"""
      layer {{ name: "{name}" type: "InnerProduct" bottom: "{bottom}" top: "{name}"
        {params} inner_product_param {{ num_output: {outputs} {more} }} }}"""


NET = INPUT + layer("a", "data", 1024) + layer("b", "a", 2048) + LOSS % "b"


def program(text, engine=None, **options):
    options = {"by_rows": True, "without": frozenset(NAMES) - {"rows"}} | options
    return program_of(graph_of(text, "TRAIN"), engine, **options)


def backward(found):
    texts = [i.text for i in found.instructions[found.backward_start :]]
    return [text.split(" [")[0] for text in texts if "pre_" not in text]


def test_weights_are_updated_once_their_layer_is_done():
    assert backward(program(NET))[:8] == [
        "fill loss.diff = 1",
        "backward loss",
        "read table b",
        "backward b",
        "post_read table b",
        "update b by 512 rows",
        "update table b",
        "read table a",
    ]


def test_what_is_left_of_a_backward_pass_makes_the_bottoms_diff_alone():
    passes = {i.text: i for i in program(NET).instructions}
    written = passes["backward b [numpy]"].writes
    assert written == ("a.diff",)


def test_the_gradient_has_no_array_any_more():
    found = program(NET)
    whole = program(NET, by_rows=False)
    assert "b/0.diff" in whole.arrays and "b/0.diff" not in found.arrays
    assert found.arrays["b/0.diff rows"].shape == (512, 1024)
    calls = [i for i in found.instructions if i.text == "update table b"]
    assert [i.arrays for i in calls] == [("b/1.diff",)]


def test_nothing_is_left_of_the_first_layers_backward_pass():
    found = program(INPUT + layer("b", "data", 2048) + LOSS % "b")
    assert backward(found)[2:] == [
        "read table b",
        "post_read table b",
        "update b by 512 rows",
        "update table b",
        "clock",
    ]


def test_rows_that_are_left_at_the_end_are_a_slice_of_their_own():
    found = program(INPUT + layer("b", "data", 2100) + LOSS % "b")
    (update,) = (i for i in found.instructions if "rows" in i.text)
    request, _ = update.last
    assert update.rows == 512 and request.shapes["param0.diff"] == (52, 1024)
    assert request.shapes["top0.diff"] == (2, 52)


@pytest.mark.parametrize("text", [NET, INPUT + layer("b", "data", 2100) + LOSS % "b"])
@pytest.mark.parametrize("factor", [None, 1.0, 1.3])
def test_plans_can_be_trusted_with_a_budget_and_without(text, factor):
    found = program(text)
    least = make_plan(found).least_bytes
    assert not check_plan(make_plan(found, factor and int(factor * least)))


@pytest.mark.parametrize(
    "options",
    [
        {"by_rows": False},
        {"accumulate": True},
        {"keep_all": True},
        {"tables": False},
        {"without": frozenset(NAMES)},
    ],
)
def test_a_gradient_that_someone_sees_stays_whole(options):
    assert not any("rows" in line for line in backward(program(NET, **options)))


@pytest.mark.parametrize(
    "text",
    [
        INPUT + layer("b", "data", 2040) + LOSS % "b",  # smaller
        INPUT + layer("b", "data", 2048, "transpose: true") + LOSS % "b",
        INPUT + layer("b", "data", 2048, params="param { lr_mult: 0 }") + LOSS % "b",
    ],
)
def test_small_transposed_and_frozen_weights_are_left_alone(text):
    assert not any("rows" in line for line in backward(program(text)))


def test_weights_that_two_layers_share_are_updated_when_both_are_done():
    shared = 'param { name: "w" }'
    text = INPUT + layer("a", "data", 1024)
    text += layer("b", "data", 2048, params=shared)
    text += layer("c", "a", 2048, params=shared)
    text += """layer { name: "sum" type: "Eltwise" bottom: "b" bottom: "c" top: "s" }"""
    assert not any("rows" in line for line in backward(program(text + LOSS % "s")))


def test_weights_whose_rows_do_not_lie_together_are_left_alone():
    engine = OddEngine(lambda request, port: port.startswith("param0"))
    assert not any("rows" in line for line in backward(program(NET, engine)))
    plain = OddEngine(lambda request, port: False)
    assert "update b by 512 rows" in backward(program(NET, plain))
    assert plain.rows_layout((8, 4), Layout("plain", 128), 2).nbytes == 32
