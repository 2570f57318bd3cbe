"""Swapping changes nothing: the same bits at any budget, with poison on what leaves."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from geeps_caffe.caffe import get_solver
from geeps_caffe.config.job import RunSettings
from geeps_caffe.engines.table import open_engine
from geeps_caffe.errors import PlanError
from geeps_caffe.execution.net import Limits, PlannedNet, kept_values
from geeps_caffe.schedule.check import check_plan
from geeps_caffe.schedule.plan import make_plan
from geeps_caffe.schedule.program import Options
from tests.execution.recordings import inside
from tests.schedule.nets import LENET, graph_of

SOLVERS = Path(__file__).parents[1] / "golden" / "solvers"


def branch(name, bottom, outputs, kernel):
    return f"""
    layer {{ name: "{name}" type: "Convolution" bottom: "{bottom}" top: "{name}"
      convolution_param {{ num_output: {outputs} kernel_size: {kernel}
                           pad: {kernel // 2} }} }}
    layer {{ name: "relu_{name}" type: "ReLU" bottom: "{name}" top: "{name}" }}"""


INCEPTION = f"""
layer {{ name: "in" type: "Input" top: "data" top: "label"
  input_param {{ shape {{ dim: 2 dim: 3 dim: 12 dim: 12 }} shape {{ dim: 2 }} }} }}
{branch("stem", "data", 16, 3)}
layer {{ name: "norm" type: "LRN" bottom: "stem" top: "norm" }}
{branch("a1", "norm", 8, 1)}
{branch("b1", "norm", 6, 1)}
{branch("b3", "b1", 8, 3)}
{branch("c1", "norm", 4, 1)}
{branch("c5", "c1", 8, 5)}
layer {{ name: "dpool" type: "Pooling" bottom: "norm" top: "dpool"
  pooling_param {{ pool: MAX kernel_size: 3 stride: 1 pad: 1 }} }}
{branch("d1", "dpool", 8, 1)}
layer {{ name: "cat" type: "Concat" bottom: "a1" bottom: "b3" bottom: "c5"
  bottom: "d1" top: "cat" }}
layer {{ name: "aux_ip" type: "InnerProduct" bottom: "cat" top: "aux_ip"
  inner_product_param {{ num_output: 5 }} }}
layer {{ name: "aux" type: "SoftmaxWithLoss" bottom: "aux_ip" bottom: "label"
  top: "aux" loss_weight: 0.3 }}
layer {{ name: "pool" type: "Pooling" bottom: "cat" top: "pool"
  pooling_param {{ pool: AVE kernel_size: 12 }} }}
layer {{ name: "drop" type: "Dropout" bottom: "pool" top: "pool" }}
layer {{ name: "ip" type: "InnerProduct" bottom: "pool" top: "ip"
  inner_product_param {{ num_output: 5 }} }}
layer {{ name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label"
  top: "loss" }}
"""

LSTM = """
layer { name: "in" type: "Input" top: "data" top: "cont" top: "label"
  input_param { shape { dim: 5 dim: 2 dim: 6 } shape { dim: 5 dim: 2 }
                shape { dim: 5 dim: 2 } } }
layer { name: "lstm1" type: "LSTM" bottom: "data" bottom: "cont" top: "lstm1"
  recurrent_param { num_output: 8 } }
layer { name: "lstm2" type: "LSTM" bottom: "lstm1" bottom: "cont" top: "lstm2"
  recurrent_param { num_output: 8 } }
layer { name: "ip" type: "InnerProduct" bottom: "lstm2" top: "ip"
  inner_product_param { num_output: 4 axis: 2 } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label"
  top: "loss" softmax_param { axis: 2 } }
"""

NETS = {"lenet": LENET, "inception": INCEPTION, "lstm": LSTM}
FACTORS = (1.0, 1.02, 1.15, 1.5, 2.0)
STEPS, RATE = 3, 0.05


@pytest.fixture(params=["reference", "onednn"])
def engine(request):
    return open_engine(request.param)


def planned(text, engine, budget=None, share=None, keep_all=False):
    graph = graph_of(text)
    options = Options(keep=kept_values(graph), keep_all=keep_all)
    limits = Limits(budget, share, poison=True)
    return PlannedNet(graph, engine, options, limits=limits)


def train(net):
    """Losses of some steps of plain descent, and the weights after them."""
    for i, (key, param) in enumerate(net.graph.params.items()):
        values = np.random.default_rng((1, i)).normal(0, 0.2, param.shape)
        net.set_param(key, values)
    losses = []
    for step in range(STEPS):
        fill_inputs(net, np.random.default_rng((2, step)))
        net.executor.begin(step, np.arange(8))
        net.executor.step()
        losses.append(net.loss())
        for key in net.graph.params:
            gradient = net.executor.plain(f"{key}.diff")
            net.set_param(key, net.param(key) - RATE * gradient)
    return losses, {key: net.param(key).copy() for key in net.graph.params}


def fill_inputs(net, rng):
    for blob in net.graph.inputs:
        array = net.executor.value(blob)
        if blob == "label":
            array[...] = rng.integers(0, 4, array.shape)
        elif blob == "cont":
            array[...] = np.arange(len(array))[:, None] > 0
        else:
            array[...] = rng.standard_normal(array.shape)
        net.executor.copy_in(net.program.data[blob], array)


def check_same(found, wanted):
    assert found[0] == wanted[0]
    for key, values in wanted[1].items():
        np.testing.assert_array_equal(found[1][key], values, key)


@pytest.mark.parametrize("keep_all", [False, True], ids=["lean", "by hand"])
@pytest.mark.parametrize("name", NETS)
def test_training_gives_the_same_bits_at_any_budget(name, keep_all, engine):
    free = planned(NETS[name], engine, keep_all=keep_all)
    wanted = train(free)
    assert np.isfinite(wanted[0]).all()
    assert wanted[0][0] != wanted[0][1]
    moved = set()
    for factor in FACTORS:
        share = not keep_all
        least = make_plan(free.program, share=share).least_bytes
        net = planned(NETS[name], engine, int(least * factor), keep_all=keep_all)
        check_same(train(net), wanted)
        assert check_plan(net.executor.plan) == []
        assert net.executor.plan.arena_bytes <= least * factor
        moved.add(net.executor.plan.moved_bytes)
    assert max(moved) > 0


@pytest.mark.parametrize("name", NETS)
def test_sharing_places_gives_the_same_bits(name, engine):
    net = planned(NETS[name], engine, share=True)
    check_same(train(net), train(planned(NETS[name], engine)))
    assert net.executor.plan.arena_bytes < net.executor.plan.total_bytes


@pytest.mark.parametrize("name", NETS)
def test_more_memory_moves_no_more(name, engine):
    program = planned(NETS[name], engine).program
    shared = make_plan(program, share=True)
    budgets = [shared.least_bytes, shared.least_bytes * 3 // 2, shared.arena_bytes]
    moved = [make_plan(program, b).moved_bytes for b in sorted(budgets)]
    assert moved == sorted(moved, reverse=True)
    assert moved[-1] == 0


def test_blobs_stay_readable_within_a_budget_where_python_drives(engine):
    free = planned(INCEPTION, engine, keep_all=True)
    least = make_plan(free.program, share=False).least_bytes
    tight = planned(INCEPTION, engine, least, keep_all=True)
    train(free)
    train(tight)
    for value in free.graph.values:
        wanted = free.executor.value(value)
        np.testing.assert_array_equal(tight.executor.value(value), wanted, value)
    for value, array in free.program.diff.items():
        wanted = free.executor.plain(array)
        found = tight.executor.plain(tight.program.diff[value])
        np.testing.assert_array_equal(found, wanted, value)


# -- solvers, with tables ------------------------------------------------------


@pytest.fixture
def place(tmp_path):
    shutil.copytree(SOLVERS, tmp_path / "solvers")
    with inside(tmp_path / "solvers"):
        yield


def solve(case, settings):
    """The weights after some iterations of a recorded solver."""
    solver = get_solver(f"{case}/solver.prototxt", settings)
    net = str(solver.param.net).removeprefix("net_").removesuffix(".prototxt")
    solver.net.copy_from(f"init_{net}.caffemodel")
    solver.step(4)
    return {
        f"{layer}/{i}": blob.data.copy()
        for layer, blobs in solver.net.params.items()
        for i, blob in enumerate(blobs)
    }


def least_of(message):
    return int(message.split("at least ")[1].split(" bytes")[0].replace(",", ""))


@pytest.mark.parametrize(
    "case", ["SGD__shared_params", "SGD__iter_size2", "Adam__mults_wdL2"]
)
@pytest.mark.parametrize("engine", ["reference", "onednn"])
def test_solvers_end_at_the_same_weights_at_any_budget(case, engine, place):
    def settings(memory=None):
        return RunSettings(engine=engine, seed=1, memory=memory, poison=True)

    wanted = solve(case, settings())
    with pytest.raises(PlanError) as error:
        solve(case, settings(1))
    least = least_of(str(error.value))
    for memory in (least, least * 5 // 4):
        found = solve(case, settings(memory))
        for key, values in wanted.items():
            np.testing.assert_array_equal(found[key], values, key)
