"""Plans by time on the double: copies ahead of need and passes run again."""

from dataclasses import replace

import numpy as np
import pytest

from geeps_caffe.config.job import RunSettings
from geeps_caffe.config.param_cache import ParamCache
from geeps_caffe.engines.cuda.engine import CudaEngine
from geeps_caffe.schedule.plan import make_plan
from geeps_caffe.schedule.recompute import candidates, recomputed
from tests.cuda_double.fixtures import double
from tests.execution.made_up_jobs import LSTM, parsed_net, solve
from tests.schedule.nets import graph_of, program_of
from tests.schedule.test_recompute import NET, learned, nodes_of

__all__ = ["double"]

BASE = RunSettings(engine="cuda", seed=1, poison=True)
MADE_UP = NET.replace('type: "Input"', 'type: "DummyData"').replace(
    "input_param { shape { dim: 4 dim: 3 dim: 12 dim: 12 } shape { dim: 4 } }",
    "dummy_data_param { shape { dim: 4 dim: 3 dim: 12 dim: 12 } shape { dim: 4 } "
    'data_filler { type: "gaussian" } data_filler { type: "uniform" max: 4.9 } }',
)
FILLED = MADE_UP.replace(
    "kernel_size: 3 pad: 1 }",
    'kernel_size: 3 pad: 1 weight_filler { type: "xavier" } }',
).replace("num_output: 5 }", 'num_output: 5 weight_filler { type: "xavier" } }')


@pytest.mark.usefixtures("double")
@pytest.mark.parametrize("costs", ["k20c", "h200", "measured"])
@pytest.mark.parametrize("cache", [None, ParamCache(), ParamCache("pinned")])
@pytest.mark.parametrize("text", [FILLED, LSTM], ids=["convolutions", "lstm"])
def test_a_net_learns_the_same_bits_at_any_budget(text, cache, costs):
    wanted, _ = solve(parsed_net(text), BASE, 6)
    settings = replace(BASE, param_cache=cache, costs=costs)
    _, whole = solve(parsed_net(text), settings, 0)
    moved = []
    for factor in (1.0, 1.2):
        budget = int(whole.least_bytes * factor)
        found, plan = solve(parsed_net(text), replace(settings, memory=budget), 6)
        for key, values in wanted.items():
            np.testing.assert_array_equal(found[key], values, key)
        moved.append(plan.moved_bytes)
    assert moved[0] > 0


@pytest.mark.usefixtures("double")
def test_passes_run_again_on_the_device():
    graph, engine = graph_of(NET), CudaEngine()
    program = program_of(graph, engine, tables=False)
    wanted = learned(graph, engine, program, None)
    again = recomputed(program, candidates(program, nodes_of(graph)))
    least = make_plan(again, share=True).least_bytes
    for budget in (least, least * 5 // 4):
        found = learned(graph, engine, again, budget)
        for key, values in wanted.items():
            np.testing.assert_array_equal(found[key], values, key)
