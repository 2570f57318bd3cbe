"""CUDA graphs on the double: the same bits as without, whatever changes by step."""

import logging
from dataclasses import replace

import numpy as np
import pytest

import prototxt
from geeps_caffe.config.job import RunSettings
from geeps_caffe.config.param_cache import ParamCache
from geeps_caffe.device.backend import CudaDevice
from geeps_caffe.engines.cuda.engine import CudaEngine
from geeps_caffe.execution import steps
from geeps_caffe.execution.net import Limits, PlannedNet, kept_values
from geeps_caffe.execution.trainer import Trainer
from geeps_caffe.schedule import segments
from geeps_caffe.schedule.instructions import SwapIn
from geeps_caffe.schedule.plan import make_plan
from geeps_caffe.schedule.program import Options
from geeps_caffe.schedule.segments import find_segments
from tests.cuda_double.fixtures import double
from tests.execution.made_up_jobs import LSTM, parsed_net, read_net, without_data
from tests.execution.random_nets import SHAPE, random_net
from tests.execution.test_planned_nets import fill, values_of
from tests.execution.test_planners import lenet
from tests.execution.workers import weights_of
from tests.schedule.nets import graph_of

__all__ = ["double"]

STEPS = 6  # two warm up, then graphs are captured
BASE = RunSettings(engine="cuda", seed=1, poison=True)
#: Everything that a launch could keep though it should not: rates, iterations, masks.
RESTLESS = """
base_lr: 0.05 lr_policy: "step" gamma: 0.5 stepsize: 1 momentum: 0.9 weight_decay: 0.01
random_seed: 1 max_iter: 1000
"""
DROPOUT = """
layer { name: "data" type: "DummyData" top: "data" top: "label"
  dummy_data_param {
    shape { dim: 4 dim: 3 dim: 8 dim: 8 } shape { dim: 4 }
    data_filler { type: "gaussian" } data_filler { type: "constant" value: 1 } } }
layer { name: "conv" type: "Convolution" bottom: "data" top: "conv"
  convolution_param { num_output: 6 kernel_size: 3 weight_filler { type: "xavier" } } }
layer { name: "norm" type: "BatchNorm" bottom: "conv" top: "norm" }
layer { name: "relu" type: "ReLU" bottom: "norm" top: "norm" }
layer { name: "pool" type: "Pooling" bottom: "norm" top: "pool"
  pooling_param { pool: MAX kernel_size: 2 stride: 2 } }
layer { name: "drop" type: "Dropout" bottom: "pool" top: "pool" }
layer { name: "ip1" type: "InnerProduct" bottom: "pool" top: "ip1"
  inner_product_param { num_output: 16 weight_filler { type: "xavier" } } }
layer { name: "relu1" type: "ReLU" bottom: "ip1" top: "ip1" }
layer { name: "drop1" type: "Dropout" bottom: "ip1" top: "ip1" }
layer { name: "ip2" type: "InnerProduct" bottom: "ip1" top: "ip2"
  inner_product_param { num_output: 5 weight_filler { type: "xavier" } } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip2" bottom: "label" top: "loss" }
"""
NETS = {"dropout": lambda: parsed_net(DROPOUT), "lenet": lenet}
NETS["lstm"] = lambda: parsed_net(LSTM)


def train(source, settings, more=""):
    """Losses and weights after some steps, and the plan."""
    text = f"net_param {{ {source.message} }} {RESTLESS} {more}"
    document = prototxt.parse_solver(text, "solver.prototxt")
    trainer = Trainer(document.message, "solver.prototxt", settings, document=document)
    losses = []
    for _ in range(STEPS):
        trainer.step(1)
        losses.append(trainer.net.loss())
    found, plan = weights_of(trainer), trainer.net.executor.plan
    trainer.close()
    return losses, found, plan


def check_same(double, source, settings, more="", launched=True):
    wanted = train(source, replace(settings, graphs=False), more)
    before = double.machine.launches
    assert not before
    found = train(source, settings, more)
    assert bool(double.machine.launches) == launched
    assert found[0] == wanted[0]
    for key, values in wanted[1].items():
        np.testing.assert_array_equal(found[1][key], values, key)
    return found[2]


@pytest.mark.parametrize("net", NETS)
def test_graphs_train_to_the_same_bits(double, net):
    launched = net != "lstm"  # all but one product is the layers' own code
    check_same(double, NETS[net](), BASE, launched=launched)


SOLVERS = {
    "Adam": 'type: "Adam" momentum2: 0.999',
    "clipped": "clip_gradients: 0.1",
    "two batches": "iter_size: 2",
    "by workers": "",
}


@pytest.mark.parametrize("solver", SOLVERS)
def test_whatever_a_solver_changes_by_step_is_never_captured(double, solver):
    update = "worker" if solver == "by workers" else "shard"
    settings = replace(BASE, update=update)
    check_same(double, NETS["dropout"](), settings, SOLVERS[solver])


@pytest.mark.parametrize("factor", [1.0, 1.3])
@pytest.mark.parametrize("costs", ["", "k20c"])
def test_copies_are_branches_of_graphs(double, costs, factor, monkeypatch):
    """As late as their events allow; what is swapped out is poisoned."""
    monkeypatch.setattr(segments, "LEAST", 0)  # or so little would not be captured
    source = NETS["dropout"]()
    _, _, whole = train(source, replace(BASE, graphs=False))
    budget = int(whole.least_bytes * factor)
    plan = check_same(double, source, replace(BASE, memory=budget, costs=costs))
    swaps = [isinstance(entry, SwapIn) for entry in plan.instructions]
    assert any(swaps) == (factor == 1)
    positions = [i for part in find_segments(plan) for i in part.captured]
    assert any(swaps[i] for i in positions) == any(swaps)


@pytest.mark.parametrize("cache", ["swapped", "pinned"])
def test_with_tables_on_the_host_computing_alone_is_captured(double, cache):
    source = NETS["dropout"]()
    settings = replace(BASE, param_cache=ParamCache(cache))
    plan = check_same(double, source, settings)
    kinds = {
        type(plan.instructions[i])
        for part in find_segments(plan)
        for i in part.captured
    }
    assert SwapIn not in kinds


@pytest.mark.slow
def test_cifar10_trains_to_the_same_bits(double, corpus):
    path = "BVLC__caffe/examples/cifar10/cifar10_full_train_test.prototxt"
    source = without_data(read_net(corpus / "zoo" / path), 4, data=(3, 32, 32))
    check_same(double, source, BASE)


@pytest.mark.parametrize("tight", [False, True])
@pytest.mark.parametrize("seed", range(40))
def test_any_net_gives_the_same_bits(double, seed, tight, monkeypatch):
    """Nets without a server, driven by hand; captured at once."""
    monkeypatch.setattr(steps, "WARM_UP", 0)
    text = random_net((seed, 8))
    wanted = run_by_hand(text, graphs=False)
    found = run_by_hand(text, graphs=True, tight=tight)
    assert double.machine.launches or tight
    for mine, theirs in zip(found, wanted, strict=True):
        for name, values in theirs.items():
            np.testing.assert_array_equal(mine[name], values, name)


def run_by_hand(text, graphs, tight=False):
    """Losses, outputs and gradients of some steps."""
    graph = graph_of(text)
    backward = any(node.needs_backward for node in graph.nodes)
    options = Options("float32", backward, keep=kept_values(graph))
    limits = Limits(share=True, graphs=graphs, poison=tight)
    net = PlannedNet(graph, CudaEngine(), options, limits=limits)
    if tight:
        budget = make_plan(net.program, share=True).least_bytes
        net.limits = replace(limits, budget=budget)
    fill(net)
    found = []
    for step in range(3):
        data = values_of(SHAPE, step).astype(np.float32)
        net.executor.copy_in(net.program.data["data"], data)
        net.executor.begin(step, np.arange(SHAPE[0]))
        net.executor.step()
        result = {blob: np.array(data) for blob, _, data in net.outputs()}
        for key in graph.params:
            if f"{key}.diff" in net.program.arrays:
                result[key] = np.array(net.executor.plain(f"{key}.diff"))
        found.append(result)
    return found


def test_where_a_capture_fails_the_step_runs_call_by_call(double, caplog, monkeypatch):
    def refuse(device, *args):
        raise RuntimeError("cudaErrorStreamCaptureUnsupported:\n not now")

    wanted = train(NETS["dropout"](), replace(BASE, graphs=False))
    monkeypatch.setattr(CudaDevice, "with_graphs", refuse)
    with caplog.at_level(logging.WARNING):
        found = train(NETS["dropout"](), BASE)
    assert found[0] == wanted[0]
    line = "no CUDA graphs (cudaErrorStreamCaptureUnsupported: not now)"
    assert len([r for r in caplog.records if line in r.getMessage()]) == 1
