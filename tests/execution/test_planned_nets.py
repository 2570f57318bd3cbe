"""Planned nets against the plain interpreter, in float64, whatever the memory."""

import numpy as np
import pytest
from hypothesis import given, settings

from geeps_caffe.engines.reference.engine import ReferenceEngine
from geeps_caffe.execution.net import Limits, PlannedNet, kept_values
from geeps_caffe.schedule.check import check_plan
from geeps_caffe.schedule.plan import make_plan
from geeps_caffe.schedule.program import Options
from tests.execution.random_nets import SHAPE, random_net, seeds
from tests.interpreter import Interpreter
from tests.schedule.nets import graph_of
from tests.schedule.odd_engine import OddEngine

STEPS = 2
TOLERANCE = 1e-12


def planned(text, engine=None, budget=None, share=None, **options):
    graph = graph_of(text)
    backward = any(node.needs_backward for node in graph.nodes)
    chosen = Options("float64", backward, keep=kept_values(graph), **options)
    limits = Limits(budget, share, poison=True)
    return PlannedNet(graph, engine or ReferenceEngine(), chosen, limits=limits)


def values_of(shape, *seed):
    return np.random.default_rng(seed).standard_normal(shape)


def fill(net):
    """Weights by the order of the params; statistics stay zero."""
    for i, (key, param) in enumerate(net.graph.params.items()):
        if not param.state:
            net.set_param(key, 0.5 * values_of(param.shape, 7, i))


def run(net):
    """Outputs, loss and gradients of some steps, each with another input."""
    fill(net)
    found = []
    for step in range(STEPS):
        net.executor.value("data")[...] = values_of(SHAPE, step)
        net.executor.begin(step, np.arange(SHAPE[0]))
        net.executor.step()
        result = {blob: data.copy() for blob, _, data in net.outputs()}
        result["(loss)"] = np.array(net.loss())
        for key, param in net.graph.params.items():
            name = f"{key}.diff"
            wanted = name in net.program.arrays and not param.state
            zeros = np.zeros(param.shape)
            result[name] = net.executor.plain(name).copy() if wanted else zeros
        found.append(result)
    return found


def expected(text, net):
    """The same by the interpreter."""
    plain = Interpreter(text, dtype=np.float64)
    owners = {key: (n.name, i) for n in reversed(net.graph.nodes)
              for i, key in enumerate(n.params)}  # fmt: skip
    for i, (key, param) in enumerate(net.graph.params.items()):
        if not param.state:
            name, index = owners[key]
            blob = plain.params[name][index]
            blob.data[...] = 0.5 * values_of(param.shape, 7, i)
    found = []
    for step in range(STEPS):
        plain.forward(data=values_of(SHAPE, step))
        result = {blob: plain.data[blob].copy() for blob in plain.outputs}
        result["(loss)"] = np.array(plain.loss())
        plain.backward()
        for key, param in net.graph.params.items():
            name, index = owners[key]
            diff = plain.params[name][index].diff
            result[f"{key}.diff"] = (
                np.zeros(param.shape) if param.state else diff.copy()
            )
        found.append(result)
    return found


def check_close(found, wanted):
    """Within rounding of the largest: a bias before a BatchNorm learns nothing else."""
    for mine, theirs in zip(found, wanted, strict=True):
        scale = max(1.0, *(float(np.abs(a).max(initial=0)) for a in theirs.values()))
        for name in theirs:
            if name not in mine:  # a blob under a loss weight is one of its Split
                continue
            np.testing.assert_allclose(
                mine[name], theirs[name], TOLERANCE, TOLERANCE * scale, err_msg=name
            )


def check_equal(found, wanted):
    for mine, theirs in zip(found, wanted, strict=True):
        for name in theirs:
            np.testing.assert_array_equal(mine[name], theirs[name], name)


@settings(max_examples=60, deadline=None)
@given(seeds())
def test_a_lean_net_computes_what_the_interpreter_does(seed):
    text = random_net(seed, "safe")
    net = planned(text)
    check_close(run(net), expected(random_net(seed, "safe", weights=False), net))


@settings(max_examples=60, deadline=None)
@given(seeds())
def test_layers_in_place_compute_what_they_do_beside(seed):
    """Where Caffe would read overwritten values, too: the plan keeps them."""
    found, wanted = (
        run(planned(random_net(seed))),
        run(planned(random_net(seed, "none"))),
    )
    for mine, theirs in zip(found, wanted, strict=True):
        for name in (n for n in mine if n.endswith(".diff") or n == "(loss)"):
            np.testing.assert_array_equal(mine[name], theirs[name], name)


@settings(max_examples=60, deadline=None)
@given(seeds())
def test_every_budget_gives_the_same_bits(seed):
    text = random_net(seed)
    net = planned(text)
    wanted = run(net)
    shared = make_plan(net.program, share=True)
    check_equal(run(planned(text, share=True)), wanted)
    for factor in (1.0, 1.1, 1.5):
        tight = planned(text, budget=int(shared.least_bytes * factor))
        assert check_plan(tight.executor.plan) == []
        check_equal(run(tight), wanted)


@settings(max_examples=40, deadline=None)
@given(seeds())
def test_an_engine_with_odd_layouts_computes_the_same(seed):
    text = random_net(seed)
    wanted = run(planned(text))
    free = planned(text, OddEngine())
    check_close(run(free), wanted)
    least = make_plan(free.program, share=True).least_bytes
    check_equal(
        run(planned(text, OddEngine(), budget=least)), run(planned(text, OddEngine()))
    )


@settings(max_examples=30, deadline=None)
@given(seeds())
def test_a_net_that_is_driven_by_hand_computes_the_same_within_a_budget(seed):
    text = random_net(seed, "safe")
    net = planned(text, keep_all=True)
    least = make_plan(net.program, share=False).least_bytes
    check_equal(run(planned(text, keep_all=True, budget=least)), run(net))
    check_close(run(net), expected(random_net(seed, "safe", weights=False), net))


@pytest.mark.parametrize("engine", [ReferenceEngine, OddEngine])
def test_gradients_of_several_batches_add_up(engine):
    text = """
    layer { name: "in" type: "Input" top: "data"
      input_param { shape { dim: 2 dim: 3 dim: 4 dim: 4 } } }
    layer { name: "conv" type: "Convolution" bottom: "data" top: "conv"
      convolution_param { num_output: 2 kernel_size: 3 } }
    layer { name: "relu" type: "ReLU" bottom: "conv" top: "conv" }
    layer { name: "loss" type: "Reduction" bottom: "conv" top: "loss" loss_weight: 1 }
    """
    single = run(planned(text, engine()))
    net = planned(text, engine(), accumulate=True)
    fill(net)
    for step in range(STEPS):
        net.executor.value("data")[...] = values_of(SHAPE, step)
        net.executor.begin(step, np.arange(2))
        net.executor.step(first=step == 0)
    total = single[0]["conv/0.diff"] + single[1]["conv/0.diff"]
    np.testing.assert_allclose(net.executor.plain("conv/0.diff"), total, 1e-12)


@pytest.mark.parametrize("engine", [ReferenceEngine, OddEngine])
@pytest.mark.parametrize("accumulate", [False, True])
def test_a_param_may_be_shared_in_another_shape(engine, accumulate):
    """PERMISSIVE: weights (3, 3, 1, 1) of a convolution are (3, 3) to a product."""
    text = """
    layer { name: "in" type: "Input" top: "data"
      input_param { shape { dim: 2 dim: 3 dim: 1 dim: 1 } } }
    layer { name: "conv" type: "Convolution" bottom: "data" top: "conv"
      param { name: "w" } convolution_param { num_output: 3 kernel_size: 1 } }
    layer { name: "ip" type: "InnerProduct" bottom: "conv" top: "ip"
      param { name: "w" share_mode: PERMISSIVE } inner_product_param { num_output: 3 } }
    layer { name: "loss" type: "Reduction" bottom: "ip" top: "loss" loss_weight: 1
      reduction_param { operation: SUMSQ } }
    """
    net = planned(text, engine(), accumulate=accumulate)
    fill(net)
    x = values_of((2, 3), 0)
    net.executor.value("data")[...] = x.reshape(2, 3, 1, 1)
    net.executor.begin(0, np.arange(2))
    net.executor.step()
    weights = net.param("conv/0").reshape(3, 3)
    hidden = x @ weights.T + net.param("conv/1")
    y = hidden @ weights.T + net.param("ip/1")
    np.testing.assert_allclose(net.loss(), (y**2).sum(), 1e-12)
    gradient = (2 * y).T @ hidden + (2 * y @ weights).T @ x
    found = net.executor.plain("conv/0.diff")
    assert found.shape == (3, 3, 1, 1)
    np.testing.assert_allclose(found.reshape(3, 3), gradient, 1e-12)
    assert check_plan(net.executor.plan) == []
