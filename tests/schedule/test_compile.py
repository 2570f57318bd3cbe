import shutil

import numpy as np
import pytest

from geeps_caffe.engines.reference.engine import ReferenceEngine
from geeps_caffe.engines.table import open_engine
from geeps_caffe.schedule.check import check_plan
from geeps_caffe.schedule.instructions import Accumulate, Compute, Fill, Reorder, Table
from geeps_caffe.schedule.plan import make_plan
from tests.execution.recordings import inside
from tests.schedule.nets import (
    GOLDEN,
    LENET,
    RECORDED,
    TINY,
    graph_of,
    program_of,
    recorded_phase,
    recorded_text,
)
from tests.schedule.odd_engine import OddEngine

INPUT = """layer { name: "in" type: "Input" top: "data"
  input_param { shape { dim: 2 dim: 3 dim: 4 dim: 4 } } }
"""
CONV = """layer { name: "conv" type: "Convolution" bottom: "data" top: "conv"
  convolution_param { num_output: 3 kernel_size: 1 } }
"""


def texts(program):
    return [instruction.text for instruction in program.instructions]


def only(program, kind):
    return [i for i in program.instructions if isinstance(i, kind)]


# -- order ---------------------------------------------------------------------


def test_the_passes_of_a_small_net():
    assert texts(program_of(graph_of(TINY))) == [
        "read table ip",
        "forward ip [numpy]",
        "post_read table ip",
        "forward relu [numpy]",
        "forward loss [layer code]",
        "fill loss.diff = 1",
        "backward loss [layer code]",
        "backward relu [numpy]",
        "pre_update table ip",
        "read table ip",
        "backward ip [numpy]",
        "post_read table ip",
        "update table ip",
        "clock",
    ]


def test_a_table_is_updated_when_the_last_of_its_gradients_is_there():
    text = INPUT + "".join(
        f"""layer {{ name: "ip{i}" type: "InnerProduct" bottom: "{b}" top: "{t}"
          param {{ name: "w" }} param {{ name: "b" }}
          inner_product_param {{ num_output: 48 }} }}
        """
        for i, (b, t) in enumerate([("data", "x"), ("x", "y")])
    )
    text += 'layer { name: "loss" type: "Reduction" bottom: "y" top: "loss" '
    text += "loss_weight: 1 }"
    shared = texts(program_of(graph_of(text)))
    assert shared[shared.index("pre_update table ip0") :] == [
        "pre_update table ip0",
        "read table ip0",
        "backward ip1 [numpy]",
        "post_read table ip0",
        "read table ip0",
        "backward ip0 [numpy]",
        "accumulate ip0.param0.diff into ip0/0.diff",
        "accumulate ip0.param1.diff into ip0/1.diff",
        "post_read table ip0",
        "update table ip0",
        "clock",
    ]


@pytest.mark.parametrize(
    ("coeff", "keep_all", "copied"),
    [("", False, False), ("coeff: 1 coeff: 2", False, True), ("", True, True)],
)
def test_the_gradient_of_a_plain_sum_is_handed_on(coeff, keep_all, copied):
    text = INPUT + CONV + CONV.replace('"conv"', '"other"')
    text += f"""layer {{ name: "sum" type: "Eltwise" bottom: "conv" bottom: "other"
      top: "sum" eltwise_param {{ {coeff} }} }}
      layer {{ name: "loss" type: "Reduction" bottom: "sum" top: "loss"
        loss_weight: 1 }}
    """
    program = program_of(graph_of(text), keep_all=keep_all)
    assert ("backward sum [numpy]" in texts(program)) == copied
    roots = {program.root(f"{blob}.diff") for blob in ("sum", "conv", "other")}
    assert len(roots) == (3 if copied else 1)
    assert check_plan(make_plan(program)) == []


def test_gradients_of_several_batches_start_at_zero_in_the_first():
    program = program_of(graph_of(TINY), accumulate=True)
    fills = [(f.array, f.when) for f in only(program, Fill)]
    assert fills == [
        ("loss.diff", "step"),
        ("ip/0.diff", "first"),
        ("ip/1.diff", "first"),
    ]
    assert len(only(program, Accumulate)) == 2


def test_a_test_net_reads_no_table_and_writes_no_gradient():
    program = program_of(graph_of(TINY, "TEST"), backward=False, tables=False)
    assert not only(program, Table)
    assert {i.direction for i in only(program, Compute)} == {"forward"}


# -- in place ------------------------------------------------------------------


def storage_of(program, value):
    return program.arrays[program.data[value]].storage


def test_a_layer_in_place_writes_over_its_bottom():
    program = program_of(graph_of(TINY))
    assert storage_of(program, "ip#1") == storage_of(program, "ip")


def test_a_layer_in_place_gets_a_place_of_its_own_where_its_bottom_is_read_again():
    # TanH reads its top backward, so ReLU can't write over it.
    text = (
        INPUT
        + CONV
        + """
    layer { name: "tanh" type: "TanH" bottom: "conv" top: "conv" }
    layer { name: "relu" type: "ReLU" bottom: "conv" top: "conv" }
    layer { name: "loss" type: "Reduction" bottom: "conv" top: "loss" loss_weight: 1 }
    """
    )
    program = program_of(graph_of(text))
    assert storage_of(program, "conv#1") == storage_of(program, "conv")
    assert storage_of(program, "conv#2") != storage_of(program, "conv")


def test_what_a_split_shows_is_never_written_over():
    text = (
        INPUT
        + CONV
        + """
    layer { name: "relu" type: "ReLU" bottom: "conv" top: "conv" }
    layer { name: "a" type: "Reduction" bottom: "conv" top: "a" loss_weight: 1 }
    layer { name: "b" type: "ReLU" bottom: "conv" top: "b" }
    layer { name: "c" type: "Power" bottom: "b" top: "b" power_param { shift: 1 } }
    layer { name: "d" type: "Reduction" bottom: "b" top: "d" loss_weight: 1 }
    """
    )
    program = program_of(graph_of(text))
    assert check_plan(make_plan(program)) == []
    split = program.data["conv_relu_0_split_0"]
    assert program.root(split) == program.data["conv#1"]


# -- layouts -------------------------------------------------------------------


def test_an_engine_that_wants_plain_arrays_needs_no_reorder():
    assert not only(program_of(graph_of(LENET)), Reorder)


def test_reorders_stand_where_layouts_differ_and_nowhere_else():
    """Only the tops of convolutions are odd, for them and for who reads them."""
    odd = OddEngine(
        lambda r, port: "Conv" in type(r.operation).__name__ and "top" in port
    )
    program = program_of(graph_of(LENET), odd)
    reorders = [(r.source, r.target) for r in only(program, Reorder)]
    assert reorders == [
        ("conv1", "conv1@plain"),
        ("conv2", "conv2@plain"),
        ("conv2.diff", "conv2.diff@odd"),
        ("conv1.diff", "conv1.diff@odd"),
    ]


def test_layers_of_one_odd_layout_hand_arrays_on_as_they_are():
    text = INPUT + "".join(
        f"""layer {{ name: "{t}" type: "Sigmoid" bottom: "{b}" top: "{t}" }}\n"""
        for b, t in [("data", "x"), ("x", "y"), ("y", "z")]
    )
    program = program_of(graph_of(text), OddEngine())
    assert [r.target for r in only(program, Reorder)] == ["data@odd"]


def test_a_copy_that_is_there_is_used_again():
    """Forward and backward read one plain copy of an odd blob."""
    text = (
        INPUT
        + CONV
        + """
    layer { name: "power" type: "Power" bottom: "conv" top: "p"
      power_param { power: 2 } }
    layer { name: "loss" type: "Reduction" bottom: "p" top: "loss" loss_weight: 1 }
    """
    )
    program = program_of(graph_of(text), OddEngine())
    assert sum(r.source == "conv" for r in only(program, Reorder)) == 1


def test_params_have_the_layout_of_their_first_reader_or_the_one_given():
    program = program_of(graph_of(TINY), OddEngine())
    assert program.arrays["ip/0"].layout.name == "odd"
    given = {"ip/0": ReferenceEngine().describe(_request(program)).layouts["param0"]}
    again = program_of(graph_of(TINY), OddEngine(), layouts=given)
    assert again.arrays["ip/0"].layout.plain
    assert [r.target for r in only(again, Reorder) if "ip/0" in r.source] == [
        "ip/0@odd"
    ]
    assert check_plan(make_plan(again)) == []


def _request(program):
    return next(i.request for i in only(program, Compute) if i.request)


def test_gradients_come_back_into_the_layout_of_their_params():
    def odd_backward(request, port):
        return request.direction == "backward" and port.startswith("param")

    program = program_of(graph_of(TINY), OddEngine(odd_backward))
    moved = [(r.source, r.target) for r in only(program, Reorder)]
    assert ("ip.param0.diff", "ip/0.diff") in moved
    assert check_plan(make_plan(program)) == []


def test_statistics_that_an_engine_updates_in_its_own_layout_are_put_back():
    text = (
        INPUT
        + """
    layer { name: "bn" type: "BatchNorm" bottom: "data" top: "bn" }"""
    )
    graph = graph_of(text)
    plain = program_of(graph).arrays["bn/0"].layout
    program = program_of(graph, OddEngine(), layouts={"bn/0": plain})
    moved = [(r.source, r.target) for r in only(program, Reorder)]
    assert ("bn/0", "bn/0@odd") in moved
    assert moved[-1] == ("bn/0@odd", "bn/0")


# -- names ---------------------------------------------------------------------


def test_blobs_may_be_named_like_params_and_gradients():
    text = """
    layer { name: "in" type: "Input" top: "a" top: "label"
      input_param { shape { dim: 2 dim: 3 } shape { dim: 2 dim: 3 } } }
    layer { name: "ip" type: "InnerProduct" bottom: "a" top: "ip/1"
      inner_product_param { num_output: 3 } }
    layer { name: "x" type: "TanH" bottom: "ip/1" top: "ip/1.diff" }
    layer { name: "y" type: "TanH" bottom: "ip/1.diff" top: "x.saved0" }
    layer { name: "loss" type: "EuclideanLoss" bottom: "x.saved0" bottom: "label" }
    """
    program = program_of(graph_of(text))
    assert program.arrays["ip/1"].home == "table"
    assert program.arrays["ip/1.diff"].home == "gradient"
    assert check_plan(make_plan(program)) == []


def test_layers_of_one_name_have_arrays_of_their_own():
    text = INPUT + "".join(
        f"""layer {{ name: "same" type: "InnerProduct" bottom: "{b}" top: "{t}"
          inner_product_param {{ num_output: 4 }} }}
        layer {{ name: "pool" type: "Dropout" bottom: "{t}" top: "{t}" }}
        """
        for b, t in [("data", "x"), ("x", "y")]
    )
    text += 'layer { name: "loss" type: "Reduction" bottom: "y" top: "loss" '
    text += "loss_weight: 1 }"
    program = program_of(graph_of(text))
    assert sorted(program.params) == ["same#2/0", "same#2/1", "same/0", "same/1"]
    assert check_plan(make_plan(program)) == []


# -- all nets ------------------------------------------------------------------


@pytest.fixture(scope="module")
def beside_files(tmp_path_factory):
    """A folder with what recorded solvers' nets read."""
    place = tmp_path_factory.mktemp("files")
    for path in (GOLDEN / "solvers").glob("train*"):
        shutil.copy(path, place)
    return place


def needs_files(name):
    return name.endswith(".npz") and (
        "files/" in recorded_text(name) or "Python" in name
    )


HERE = [name for name in RECORDED if not needs_files(name)]
ELSEWHERE = [name for name in RECORDED if needs_files(name)]


def check_net(name, engine):
    graph = graph_of(recorded_text(name), recorded_phase(name))
    for keep_all in (False, True):
        options = {"keep_all": keep_all, "accumulate": keep_all, "without": frozenset()}
        program = program_of(graph, engine, **options)
        for share in (None, True, False):
            least = make_plan(program, share=share).least_bytes
            for budget in (None, least, int(1.15 * least)):
                plan = make_plan(program, budget, share)
                assert check_plan(plan) == [], (keep_all, share, budget)
    for node in graph.nodes:
        node.layer.close()


@pytest.mark.parametrize("engine", ["reference", "onednn", "odd"])
@pytest.mark.parametrize("name", HERE)
def test_every_recorded_net_compiles_to_good_plans(name, engine, beside_files):
    with inside(beside_files):
        check_net(name, OddEngine() if engine == "odd" else open_engine(engine))


@pytest.mark.parametrize("name", ELSEWHERE)
def test_every_recorded_net_with_files_compiles_to_good_plans(
    name, corpus, tmp_path, monkeypatch
):
    files = tmp_path / "files"
    shutil.copytree(corpus / "golden" / "files", files)
    for path in (files, *files.iterdir()):
        path.chmod(0o755)
    monkeypatch.syspath_prepend(str(files))
    with inside(tmp_path):
        check_net(name, ReferenceEngine())


def test_the_odd_engine_computes_what_the_reference_does(rng):
    """The fake is no better than its arithmetic: both agree on one pass."""
    engine, plain = OddEngine(), ReferenceEngine()
    request = _request(program_of(graph_of(LENET)))
    described = engine.describe(request)
    arrays = {
        port: rng.standard_normal(shape).astype(np.float32)
        for port, shape in request.shapes.items()
    }
    odd = {}
    for port, layout in described.layouts.items():
        odd[port] = (
            np.zeros(layout.nbytes, np.uint8)
            if not layout.plain
            else arrays[port].copy()
        )
        if not layout.plain:
            found = plain.describe(request).layouts[port]
            pair = (arrays[port], found), (odd[port], layout)
            engine.bind_reorder(request.shapes[port], *pair, np.float32)()
    engine.bind(request, described, odd, np.zeros(192, np.uint8))()
    plain.bind(request, plain.describe(request), arrays, None)()
    back = np.zeros(request.shapes["top0"], np.float32)
    top = (odd["top0"], described.layouts["top0"])
    target = (back, plain.describe(request).layouts["top0"])
    engine.bind_reorder(back.shape, top, target, np.float32)()
    np.testing.assert_array_equal(back, arrays["top0"])
