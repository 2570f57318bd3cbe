"""No planner, budget or cache changes a bit of what nets learn on the CPU's arena."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import prototxt
from geeps_caffe.config.job import RunSettings
from geeps_caffe.config.param_cache import ParamCache
from geeps_caffe.errors import PlanError
from geeps_caffe.execution.reports import BlobMean, ParamNorms
from geeps_caffe.execution.timing import LayerTimes
from geeps_caffe.execution.trainer import Trainer
from geeps_caffe.schedule.check import check_plan
from geeps_caffe.schedule.instructions import SwapIn
from tests.execution.made_up_jobs import (
    LSTM,
    parsed_net,
    read_net,
    solve,
    solver_text,
    without_data,
)
from tests.schedule.large_model import inner_products
from tests.schedule.test_recompute import NET

LENET = Path(__file__).parents[2] / "models" / "lenet" / "train_val.prototxt"
BASE = RunSettings(seed=1, poison=True)
CACHES = {
    "in place": None,
    "swapped": ParamCache(),
    "pinned": ParamCache("pinned"),
    "one pinned": ParamCache(tables=(("ip1", "pinned"), ("lstm1", "pinned"))),
}


def lenet():
    return without_data(read_net(LENET), 4, data=(1, 28, 28))


def lstm():
    return parsed_net(LSTM)


def check_any_budget(source, settings, steps=3, factors=(1.0, 1.1, 1.6), more=""):
    """Trains within budgets from the least on; returns the plans."""
    free = replace(settings, param_cache=None, costs="", poison=False)
    wanted, _ = solve(source, free, steps, more)
    _, whole = solve(source, settings, 0, more)
    plans = []
    for factor in factors:
        budget = int(whole.least_bytes * factor)
        found, plan = solve(source, replace(settings, memory=budget), steps, more)
        assert plan.arena_bytes <= budget
        assert check_plan(plan) == []
        for key, values in wanted.items():
            np.testing.assert_array_equal(found[key], values, key)
        plans.append(plan)
    return plans


@pytest.mark.parametrize(
    "engine, cache, costs",
    [
        *(("onednn", cache, "k20c") for cache in CACHES),
        ("onednn", "swapped", "cpu"),
        ("onednn", "swapped", ""),
        ("reference", "swapped", "k20c"),
        ("reference", "in place", "k20c"),
    ],
)
@pytest.mark.parametrize("make", [lenet, lstm])
def test_small_nets_learn_the_same_bits(make, engine, cache, costs):
    settings = replace(BASE, engine=engine, param_cache=CACHES[cache], costs=costs)
    plans = check_any_budget(make(), settings)
    assert plans[0].moved_bytes > 0


@pytest.mark.parametrize("cache", CACHES)
def test_gradients_that_are_added_up_pass_through_the_arena(cache):
    settings = replace(BASE, param_cache=CACHES[cache], costs="k20c")
    check_any_budget(lenet(), settings, more="iter_size: 3")


def test_params_of_layers_that_do_not_learn_pass_through_the_arena():
    source = lenet()
    for layer in source.message.layer:
        if layer.name == "conv1":
            for param in layer.param:
                param.lr_mult = 0
    plans = check_any_budget(source, replace(BASE, param_cache=ParamCache()))
    assert any(entry == SwapIn("conv1/0") for entry in plans[0].instructions)


def test_copies_begin_ahead_of_need():
    cache = ParamCache()
    settings = replace(BASE, engine="reference", param_cache=cache, costs="k20c")
    plan = check_any_budget(lenet(), settings, factors=(1.5,))[0]
    entries = list(plan.instructions)
    swap = entries.index(SwapIn("ip1/0"))
    use = next(i for i, e in enumerate(entries) if "ip1/0" in e.reads)
    assert use > swap + 1


def test_test_nets_take_their_params_from_the_cache_too():
    source = lenet()
    text = "test_iter: 1 test_interval: 1 test_initialization: true"
    settings = replace(BASE, param_cache=ParamCache(), costs="k20c")
    check_any_budget(source, settings, more=text, factors=(1.2,))


def repeating(**more):
    """A trainer in whose plan cheap layers run forward twice, and what it reports.

    Its images are so large that copies take longer than launches, and its engine has
    one layout on all machines.
    """
    text = NET.replace("dim: 12 dim: 12", "dim: 48 dim: 48")
    text = text.replace("Input", "DummyData").replace("input_param", "dummy_data_param")
    text = text.replace(
        "} shape", '} data_filler { type: "gaussian" } data_filler {} shape', 1
    )
    solver = solver_text(parsed_net(text), "debug_info: true display: 1")
    document = prototxt.parse_solver(solver, "solver.prototxt")
    settings, told = replace(BASE, engine="reference", **more), []
    trainer = Trainer(document.message, "", settings, told.append, document=document)
    return trainer, told


def test_debug_info_and_times_are_of_the_layers_that_run_twice():
    free, wanted = repeating()
    least = free.net.executor.plan.least_bytes
    free.step(2)
    tight, found = repeating(memory=least, costs="k20c")
    plan = tight.net.executor.plan
    assert len(plan.program.instructions) > len(tight.net.program.instructions)
    tight.step(2)
    assert [r for r in found if isinstance(r, BlobMean | ParamNorms)] == [
        r for r in wanted if isinstance(r, BlobMean | ParamNorms)
    ]
    times = LayerTimes()
    times.step(tight.net, first=True)
    assert set(times.seconds["relu1"]) == {"forward", "backward"}
    assert set(times.seconds["in"]) == {"forward"}
    assert set(times.seconds["conv2"]) == {"forward", "backward", "tables"}
    for trainer in (free, tight):
        trainer.close()


def test_a_budget_that_can_not_be_kept_names_the_largest_steps():
    settings = replace(BASE, param_cache=ParamCache(), costs="k20c", memory=1000)
    with pytest.raises(
        PlanError, match="a budget of 1,000 bytes is too small"
    ) as error:
        solve(lenet(), settings, 1)
    assert str(error.value).count(" needs ") == 3
    assert "make the batch smaller" in str(error.value)


# -- nets of the corpus --------------------------------------------------------


@pytest.mark.parametrize("cache", ["in place", "swapped"])
def test_cifar10_full_learns_the_same_bits(corpus, cache):
    path = "BVLC__caffe/examples/cifar10/cifar10_full_train_test.prototxt"
    source = without_data(read_net(corpus / "zoo" / path), 4, data=(3, 32, 32))
    settings = replace(BASE, param_cache=CACHES[cache], costs="k20c")
    check_any_budget(source, settings)


@pytest.mark.slow
@pytest.mark.parametrize("cache", ["in place", "swapped"])
def test_googlenet_learns_the_same_bits(corpus, cache):
    path = "BVLC__caffe/models/bvlc_googlenet/train_val.prototxt"
    source = without_data(read_net(corpus / "zoo" / path), 1)
    settings = replace(BASE, param_cache=CACHES[cache], costs="k20c")
    check_any_budget(source, settings, steps=1, factors=(1.0, 1.3))


# -- a model that is larger than the arena -------------------------------------


@pytest.mark.slow
def test_a_hundredth_of_figure_13_learns_in_a_hundredth_of_its_memory():
    """56 layers of 4 MB, of 200 records, in 50 MB; its state is above 700 MB."""
    text = inner_products(1000, 200, source="DummyData")
    settings = replace(BASE, memory=50_000_000, param_cache=ParamCache(), costs="k20c")
    found, plan = solve(parsed_net(text), settings, 2)
    assert plan.arena_bytes <= 50_000_000
    params = sum(values.nbytes for values in found.values())
    assert params > 200e6
    assert plan.total_bytes + params > 700e6
    small = replace(settings, memory=None, param_cache=None, costs="")
    wanted, _ = solve(parsed_net(text), small, 2)
    for key, values in wanted.items():
        np.testing.assert_array_equal(found[key], values, key)
        assert np.isfinite(values).all()
