from functools import partial

import numpy as np
import pytest

from geeps_caffe.config.param_cache import ParamCache
from geeps_caffe.engines.table import open_engine
from geeps_caffe.execution.executor import Executor
from geeps_caffe.execution.memory import ParamMemory
from geeps_caffe.schedule.check import check_plan
from geeps_caffe.schedule.costs import DEVICES, Costs, estimate
from geeps_caffe.schedule.instructions import Compute, Reorder, UpdateRows
from geeps_caffe.schedule.plan import make_plan
from geeps_caffe.schedule.recompute import best_recomputed, candidates, recomputed
from geeps_caffe.schedule.search import cost_aware
from geeps_caffe.schedule.simulate import simulate
from tests.schedule.nets import graph_of, program_of

#: Convolutions with all kinds of cheap layers between them.
NET = """
layer { name: "in" type: "Input" top: "data" top: "label"
  input_param { shape { dim: 4 dim: 3 dim: 12 dim: 12 } shape { dim: 4 } } }
layer { name: "conv1" type: "Convolution" bottom: "data" top: "conv1"
  convolution_param { num_output: 16 kernel_size: 3 pad: 1 } }
layer { name: "relu1" type: "ReLU" bottom: "conv1" top: "relu1" }
layer { name: "pool1" type: "Pooling" bottom: "relu1" top: "pool1"
  pooling_param { pool: MAX kernel_size: 3 stride: 1 pad: 1 } }
layer { name: "norm1" type: "LRN" bottom: "pool1" top: "norm1" }
layer { name: "conv2" type: "Convolution" bottom: "norm1" top: "conv2"
  convolution_param { num_output: 16 kernel_size: 3 pad: 1 } }
layer { name: "drop" type: "Dropout" bottom: "conv2" top: "drop" }
layer { name: "flat" type: "Flatten" bottom: "drop" top: "flat" }
layer { name: "ip" type: "InnerProduct" bottom: "flat" top: "ip"
  inner_product_param { num_output: 5 } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" }
"""
TYPES = ("ReLU", "Pooling", "LRN", "Concat", "Dropout")


def nodes_of(graph):
    return {n.index for n in graph.nodes if n.type in TYPES}


@pytest.fixture
def graph():
    return graph_of(NET)


def names(program, positions):
    return [program.instructions[i].name for i in positions]


def test_cheap_passes_that_backward_reads_may_run_again(graph):
    program = program_of(graph)
    found = names(program, candidates(program, nodes_of(graph)))
    assert found == ["relu1", "pool1", "norm1", "drop"]


def test_a_pass_runs_again_before_its_results_are_read_first(graph):
    program = program_of(graph)
    again = recomputed(program, candidates(program, nodes_of(graph)))
    back = [
        f"{e.direction} {e.name}"
        for e in again.instructions[again.backward_start :]
        if isinstance(e, Compute)
    ]
    assert back == [
        "backward loss",
        "forward drop",
        "backward ip",
        "backward drop",
        "forward relu1",
        "forward pool1",
        "forward norm1",
        "backward conv2",
        "backward norm1",
        "backward pool1",
        "backward relu1",
        "backward conv1",
    ]
    assert len(again.owners) == len(again.instructions)


def test_first_results_end_with_forward(graph):
    program = program_of(graph)
    again = recomputed(program, candidates(program, nodes_of(graph)))
    late = {n for e in again.instructions[again.backward_start :] for n in e.reads}
    assert "norm1" not in {again.root(n) for n in late}
    assert "norm1~" in {again.root(n) for n in late}
    smaller, larger = (make_plan(p, share=True) for p in (again, program))
    assert smaller.arena_bytes < larger.arena_bytes
    assert check_plan(smaller) == []


def test_a_pass_runs_again_for_another_that_does():
    cat = (
        'layer { name: "cat" type: "Concat" bottom: "conv2" bottom: "norm1" '
        'top: "cat" }\n'
    )
    text = NET.replace('bottom: "conv2" top: "drop"', 'bottom: "cat" top: "drop"')
    graph = graph_of(text.replace('layer { name: "drop"', cat + 'layer { name: "drop"'))
    program = program_of(graph)
    found = names(program, candidates(program, nodes_of(graph)))
    assert found == ["relu1", "pool1", "norm1", "cat", "drop"]
    again = recomputed(program, candidates(program, nodes_of(graph)))
    assert check_plan(make_plan(again, share=True)) == []


def test_what_is_written_over_or_asked_for_is_not_computed_again():
    text = NET.replace('top: "relu1"', 'top: "conv1"').replace(
        'bottom: "relu1"', 'bottom: "conv1"'
    )
    program = program_of(graph_of(text))
    assert "relu1" not in names(program, candidates(program, nodes_of(graph_of(text))))
    graph = graph_of(NET)
    program = program_of(graph, keep=frozenset({"norm1"}))
    assert "norm1" not in names(program, candidates(program, nodes_of(graph)))


def learned(graph, engine, program, budget, planner=None):
    """The gradients after one step."""
    more = {"planner": planner} if planner else {}
    plan = make_plan(program, budget, **more)
    assert check_plan(plan) == []
    params = ParamMemory()
    executor = Executor(graph, plan, engine, params, seed=3, poison=True)
    for i, key in enumerate(graph.params):
        values = np.random.default_rng(i).normal(0, 0.1, graph.params[key].shape)
        executor.copy_in(program.params[key], values.astype(np.float32))
    rng = np.random.default_rng(9)
    data = program.arrays[program.data["data"]]
    executor.copy_in(data.name, rng.standard_normal(data.shape).astype(np.float32))
    executor.copy_in("label", np.arange(4, dtype=np.float32))
    executor.begin(5, np.arange(4))
    executor.step()
    return {k: np.array(executor.plain(f"{k}.diff")) for k in graph.params}


@pytest.mark.parametrize("name", ["reference", "onednn"])
def test_gradients_are_the_same_bits(graph, name):
    engine = open_engine(name)
    program = program_of(graph, engine, tables=False)
    wanted = learned(graph, engine, program, None)
    again = recomputed(program, candidates(program, nodes_of(graph)))
    assert again is not program
    least = make_plan(again, share=True).least_bytes
    for budget in (None, least, least * 5 // 4):
        found = learned(graph, engine, again, budget)
        for key, values in wanted.items():
            np.testing.assert_array_equal(found[key], values, key)


def test_copies_into_another_layout_may_be_made_again(graph):
    program = program_of(graph, open_engine("onednn"), tables=False)
    entries = [program.instructions[i] for i in candidates(program, nodes_of(graph))]
    assert all(isinstance(e, Compute | Reorder) for e in entries)


def test_updates_by_rows_read_what_is_computed_again():
    graph = graph_of(NET.replace("num_output: 5", "num_output: 1000"))
    program = program_of(graph, without=frozenset(), by_rows=True)
    again = recomputed(program, candidates(program, nodes_of(graph)))
    (update,) = (e for e in again.instructions if isinstance(e, UpdateRows))
    assert dict(update.ports)["bottom0"] == "flat~"
    assert check_plan(make_plan(again, share=True)) == []


def test_recomputing_is_weighed_against_swapping(graph):
    program = program_of(graph)
    budget = make_plan(program, share=True).least_bytes * 5 // 4
    slow = partial(estimate, device=DEVICES["h200"])
    planner = cost_aware(slow)
    chosen = best_recomputed(program, nodes_of(graph), budget, planner, slow)
    before = simulate(make_plan(program, budget, planner=planner), slow(program))
    assert simulate(chosen, slow(chosen.program)).seconds <= before.seconds
    assert check_plan(chosen) == []
    plenty = make_plan(program, share=True).arena_bytes * 2
    whole = best_recomputed(program, nodes_of(graph), plenty, planner, slow)
    assert whole.program is program


#: Where pool runs again, its input meets all that backward has: 6592 bytes, not 6144.
WIDE_AGAIN = """
layer { name: "in" type: "Input" top: "data" top: "label"
  input_param { shape { dim: 8 dim: 2 dim: 8 dim: 8 } shape { dim: 8 } } }
layer { name: "pool" type: "Pooling" bottom: "data" top: "pool"
  pooling_param { kernel_size: 2 stride: 2 } }
layer { name: "ip" type: "InnerProduct" bottom: "pool" top: "ip"
  inner_product_param { num_output: 3 } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" }
"""


def test_what_needs_more_than_the_budget_is_not_computed_again():
    graph = graph_of(WIDE_AGAIN)
    program = program_of(graph, param_cache=ParamCache("pinned"))
    least = make_plan(program, share=True).least_bytes
    again = recomputed(program, candidates(program, nodes_of(graph)))
    assert make_plan(again, share=True).least_bytes > least

    def free(program):  # to compute; copies take a second a byte
        return Costs((0.0,) * len(program.instructions), 1.0, 1.0)

    chosen = best_recomputed(program, nodes_of(graph), least, cost_aware(free), free)
    assert chosen.program is program
    assert check_plan(chosen) == []
