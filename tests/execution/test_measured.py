from dataclasses import replace

import numpy as np
import pytest

import prototxt
from geeps_caffe.config.job import RunSettings
from geeps_caffe.config.param_cache import ParamCache
from geeps_caffe.device.device import HostDevice
from geeps_caffe.engines.table import open_engine
from geeps_caffe.execution.measured import STEPS, copy_rates
from geeps_caffe.execution.net import Limits, PlannedNet
from geeps_caffe.execution.trainer import Trainer
from geeps_caffe.schedule.check import check_plan
from geeps_caffe.schedule.program import Options
from tests.execution.made_up_jobs import LSTM, parsed_net, solve, solver_text
from tests.schedule.nets import LENET, graph_of


@pytest.fixture
def net():
    limits = Limits(100_000, measure=True)
    return PlannedNet(
        graph_of(LENET), open_engine("reference"), Options(), limits=limits
    )


def run(net, steps):
    for step in range(steps):
        net.follow_sources()
        net.executor.begin(step, np.arange(4))
        net.step()


def test_the_first_steps_are_measured_and_then_a_plan_is_made_anew(net):
    run(net, STEPS)
    before = net.executor
    run(net, 1)
    assert net.executor is not before
    after = net.executor
    run(net, 2)
    assert net.executor is after
    assert check_plan(after.plan) == []


def test_costs_are_those_of_the_instructions(net):
    run(net, STEPS + 1)
    costs = net.limits.model(net.program)
    texts = [entry.text for entry in net.program.instructions]
    by_text = dict(zip(texts, costs.seconds, strict=True))
    assert by_text["forward conv1 [numpy]"] > 0
    assert by_text["backward conv2 [numpy]"] > 0
    assert not costs.overlap  # the host copies itself


def test_without_a_budget_nothing_is_measured():
    engine = open_engine("reference")
    net = PlannedNet(graph_of(LENET), engine, Options(), limits=Limits(measure=True))
    run(net, 1)
    before = net.executor
    run(net, STEPS + 1)
    assert net.executor is before


def test_copies_have_a_rate():
    assert all(rate > 1e6 for rate in copy_rates(HostDevice()))


@pytest.mark.parametrize("more", ["", "iter_size: 2"])
def test_planning_anew_changes_no_bit(more):
    base = RunSettings(seed=1, poison=True, param_cache=ParamCache())
    steps = STEPS + 2
    wanted, _ = solve(parsed_net(LSTM), replace(base, param_cache=None), steps, more)
    _, whole = solve(parsed_net(LSTM), base, 0, more)
    tight = replace(base, memory=whole.least_bytes * 6 // 5, costs="measured")
    found, plan = solve(parsed_net(LSTM), tight, steps, more)
    assert check_plan(plan) == []
    for key, values in wanted.items():
        np.testing.assert_array_equal(found[key], values, key)


def test_a_solver_measures_when_it_is_told_to():
    base = RunSettings(seed=1, costs="measured")
    _, whole = solve(parsed_net(LSTM), base, 0)
    document = prototxt.parse_solver(solver_text(parsed_net(LSTM)), "solver.prototxt")
    settings = replace(base, memory=whole.least_bytes * 6 // 5)
    trainer = Trainer(document.message, "solver.prototxt", settings, document=document)
    trainer.step(STEPS)
    before = trainer.net.executor
    trainer.step(1)
    assert trainer.net.limits.model is not None
    assert trainer.net.executor is not before
    trainer.close()


ONES = """
layer { name: "data" type: "DummyData" top: "data" dummy_data_param {
  shape { dim: 32 dim: 1 } data_filler { type: "constant" value: 1 } } }
layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip"
  inner_product_param { num_output: 1 bias_term: false } }
layer { name: "loss" type: "Reduction" bottom: "ip" top: "loss" loss_weight: 1 }
"""


def test_batches_whose_gradients_add_up_have_one_plan():
    """The second body of the second iteration could be the first with another."""
    text = (
        f"net_param {{ {ONES} }} base_lr: 1 lr_policy: 'fixed' iter_size: {STEPS - 1}"
    )
    solver = prototxt.parse_solver(text).message
    settings = RunSettings(seed=1, memory=100_000, costs="measured")
    trainer = Trainer(solver, "", settings)
    trainer.step(3)
    assert trainer.net.limits.model is not None
    np.testing.assert_array_equal(trainer.net.param("ip/0"), -32 * 3)
    trainer.close()
