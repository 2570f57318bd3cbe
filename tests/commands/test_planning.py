import pytest

from geeps_caffe.commands.planning import (
    plan_of,
    read_model,
    unbound_net,
    with_budget,
)
from geeps_caffe.config.job import RunSettings
from prototxt import read_solver


def test_a_share_is_one_of_the_plan_without_limit(job):
    solver = read_solver("solver.prototxt").message
    settings = RunSettings(engine="reference")
    half = with_budget(solver, "solver.prototxt", settings, "50%").memory
    whole = with_budget(solver, "solver.prototxt", settings, "100%").memory
    assert half == whole // 2
    assert half > 0


def test_bytes_are_bytes(job):
    solver = read_solver("solver.prototxt").message
    settings = with_budget(solver, "solver.prototxt", RunSettings(), "3kB")
    assert settings.memory == 3000
    assert with_budget(solver, "", RunSettings(), "").memory is None


@pytest.mark.parametrize("phase", ["TRAIN", "TEST"])
def test_a_model_is_built_in_its_phase(job, phase):
    state, named = read_model("net.prototxt", phase, 1, ("a",))
    assert named.state.phase == phase
    assert (state.level, list(state.stage)) == (1, ["a"])
    with unbound_net(named, RunSettings(engine="reference")) as net:
        assert (net.graph.nodes[-1].name, net.graph.phase) == ("loss", phase)
        assert plan_of(net, RunSettings()).arena_bytes > 0
