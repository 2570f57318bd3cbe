import pytest

from geeps_caffe.config.exact import count_parts, halvings
from geeps_caffe.engines.table import open_engine
from geeps_caffe.graph.build import build_graph
from geeps_caffe.graph.filter import NetState
from geeps_caffe.schedule.check import check_plan
from geeps_caffe.schedule.compile import compile_program
from geeps_caffe.schedule.instructions import AddParts, Compute, ParamParts
from geeps_caffe.schedule.plan import make_plan
from geeps_caffe.schedule.program import Options
from tests.execution.made_up_jobs import parsed_net

NET = """
layer { name: "in" type: "Input" top: "data" top: "label"
  input_param { shape { dim: BATCH dim: 3 dim: 8 dim: 8 } shape { dim: BATCH } } }
layer { name: "conv" type: "Convolution" bottom: "data" top: "conv"
  convolution_param { num_output: 4 kernel_size: 3 } }
layer { name: "ip1" type: "InnerProduct" bottom: "conv" top: "ip1"
  param { name: "W1" } param { name: "b1" }
  inner_product_param { num_output: WIDE } }
layer { name: "ip2" type: "InnerProduct" bottom: "ip1" top: "ip2"
  param { name: "W2" } param { name: "b2" }
  inner_product_param { num_output: WIDE } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip2" bottom: "label" top: "loss" }
"""


def compiled(batch=64, wide=8, text=NET, engine="reference", **options):
    text = text.replace("BATCH", str(batch)).replace("WIDE", str(wide))
    graph = build_graph(parsed_net(text), NetState("TRAIN"))
    return compile_program(graph, open_engine(engine), Options(**options))


def parted(program):
    """Layers that are made in parts, and in how many."""
    return {e.name: e.parts for e in program.instructions if isinstance(e, ParamParts)}


@pytest.mark.parametrize(
    ("records", "parts"),
    [(1, 1), (16, 1), (31, 1), (32, 2), (64, 4), (128, 8), (100, 4), (200, 8), (96, 4)],
)
def test_a_batch_is_halved_while_16_records_are_left(records, parts):
    assert halvings(records) == parts


@pytest.mark.parametrize("batch", [16, 25, 64, 96, 100])
@pytest.mark.parametrize("workers", [1, 2, 4, 8])
def test_a_part_has_as_many_records_for_any_number_of_workers(batch, workers):
    assert workers * batch // count_parts(workers * batch) == batch // count_parts(
        batch
    )


@pytest.mark.parametrize("engine", ["reference", "onednn"])
def test_params_gradients_are_made_in_parts_and_added_up(engine):
    program = compiled(engine=engine)
    assert parted(program) == {"conv": 4, "ip1": 4, "ip2": 4}
    sums = [e for e in program.instructions if isinstance(e, AddParts)]
    assert [e.targets for e in sums] == [
        ("ip2/0.diff", "ip2/1.diff"),
        ("ip1/0.diff", "ip1/1.diff"),
        ("conv/0.diff", "conv/1.diff"),
    ]
    assert check_plan(make_plan(program)) == []


def test_an_engine_adds_the_parts_of_large_gradients_up_while_it_makes_them():
    if "AVX-512" not in open_engine("onednn").version.text:
        pytest.skip("only with AVX-512")
    program = compiled(wide=500, engine="onednn")
    assert parted(program) == {"conv": 4}
    ip1 = [
        e
        for e in program.instructions
        if isinstance(e, Compute) and (e.direction, e.name) == ("backward", "ip1")
    ]
    assert [[p for p, _ in e.ports if p.startswith("param")] for e in ip1] == [
        ["param0.diff", "param1.diff"],
        ["param0"],
    ]
    assert [e.request.parts for e in ip1] == [4, 4]
    assert check_plan(make_plan(program)) == []


def test_the_bottoms_gradient_is_one_pass_over_the_batch():
    program = compiled()
    (rest,) = (
        e
        for e in program.instructions
        if isinstance(e, Compute) and (e.direction, e.name) == ("backward", "ip1")
    )
    assert [port for port, _ in rest.ports if port.endswith(".diff")] == [
        "top0.diff",
        "bottom0.diff",
    ]
    assert rest.request.shapes["bottom0"][0] == 64


@pytest.mark.parametrize("engine", ["reference", "onednn"])
def test_over_several_batches_each_part_adds_up_by_itself(engine):
    program = compiled(wide=500, engine=engine, accumulate=True)
    assert parted(program) == {"conv": 4, "ip1": 4, "ip2": 4}
    for entry in program.instructions:
        if isinstance(entry, ParamParts):
            rows = [a for p, a in entry.ports if p.startswith("param") and ".diff" in p]
            assert entry.adds
            assert set(rows) <= set(program.added_up)
            assert {program.arrays[a].storage for a in rows} <= program.persistent
    assert check_plan(make_plan(program)) == []


@pytest.mark.parametrize("engine", ["reference", "onednn"])
def test_a_bias_alone_is_made_in_parts_as_well(engine):
    frozen = 'type: "Convolution" param { lr_mult: 0 } param { lr_mult: 1 }'
    text = NET.replace('type: "Convolution"', frozen)
    program = compiled(text=text, engine=engine)
    assert parted(program) == {"conv": 4, "ip1": 4, "ip2": 4}
    sums = [e for e in program.instructions if isinstance(e, AddParts)]
    assert sums[-1].targets == ("conv/1.diff",)
    assert check_plan(make_plan(program)) == []


SHARED = (
    NET.replace('"W2"', '"W1"')
    .replace('"b2"', '"b1"')
    .replace("num_output: WIDE", "num_output: 144")
)

#: Here axis 0 alone does not say which record a row is of.
AXIS_2 = (
    NET.replace("num_output: WIDE", "num_output: 8 axis: 2")
    .replace("shape { dim: BATCH } }", "shape { dim: BATCH dim: 4 } }")
    .replace(
        'type: "SoftmaxWithLoss"', 'type: "SoftmaxWithLoss" softmax_param { axis: -1 }'
    )
)


#: A single image, whose axis 0 is that of channels.
AXIS_0 = """
layer { name: "in" type: "Input" top: "data"
  input_param { shape { dim: BATCH dim: 8 dim: 8 } } }
layer { name: "conv" type: "Convolution" bottom: "data" top: "conv"
  convolution_param { num_output: 4 kernel_size: 3 axis: 0 } }
layer { name: "back" type: "Deconvolution" bottom: "conv" top: "back"
  convolution_param { num_output: 64 kernel_size: 3 axis: 0 } }
layer { name: "loss" type: "Reduction" bottom: "back" top: "loss" loss_weight: 1 }
"""


@pytest.mark.parametrize(
    ("change", "left"),
    [
        ({"wide": 4000}, {}),  # 17 million numbers
        ({"batch": 101}, {}),  # all records would be one thread's
        ({"batch": 10}, {"conv": 1, "ip1": 1, "ip2": 1}),
        ({"without": frozenset({"parts"})}, {}),
        ({"text": SHARED}, {"conv": 4}),  # the sum of two layers' gradients
        ({"text": AXIS_2}, {"conv": 4}),
        ({"text": AXIS_0}, {}),
    ],
)
def test_what_is_left_whole(change, left):
    assert parted(compiled(**change)) == left
