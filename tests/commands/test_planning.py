import numpy as np
import pytest

from geeps_caffe.commands.footprint import Footprint
from geeps_caffe.commands.planning import (
    plan_of,
    read_model,
    solver_nets,
    unbound_net,
    with_budget,
)
from geeps_caffe.config.job import RunSettings
from geeps_caffe.errors import BudgetError, UsageError
from geeps_caffe.execution.job_budget import refusal
from prototxt import read_solver
from tests.end_to_end.digits import make_lenet


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


# Of 64 and of 100 records: bytes, six numbers of eight bytes and a label each.
PACKED = 64 * (28 * 28 + 52), 100 * (28 * 28 + 52)
ON_GPU = 64 * (28 * 28 + 52) + 83_648  # in whole lines of 64 bytes
GPU = RunSettings(engine="cuda")


@pytest.fixture
def lenet(tmp_path, monkeypatch):
    """A solver whose nets read pictures of bytes."""
    make_lenet(tmp_path, np.random.default_rng(1))
    monkeypatch.chdir(tmp_path)
    return read_solver("solver.prototxt").message


def test_pictures_that_wait_on_a_gpu_are_a_part_of_its_budget(lenet):
    def left(memory, settings=GPU):
        return with_budget(lenet, "solver.prototxt", settings, memory).memory

    assert left("3MB") == 3_000_000 - ON_GPU
    assert with_budget(lenet, "solver.prototxt", GPU, "3MB").staged == ON_GPU
    whole = left("100%")
    assert left("50%") == (whole + ON_GPU) // 2 - ON_GPU
    assert left("3MB", RunSettings(engine="reference")) == 3_000_000


def test_the_least_budget_of_a_gpu_holds_the_pictures_that_wait(lenet):
    error = BudgetError(1000, "'forward ip' needs 2,000 (ip 2,000)", 2000)
    assert str(refusal(error, [], 500)) == (
        "a budget of 1,500 bytes is too small. 'forward ip' needs 2,000 (ip 2,000). "
        "Give at least 2,500 bytes (500 of them for pictures that wait on the GPU), or "
        "make the batch smaller"
    )


def test_a_budget_for_nothing_but_pictures_is_refused(lenet):
    with pytest.raises(UsageError, match=r"is 100kB, but 137,152 bytes are for pict"):
        with_budget(lenet, "solver.prototxt", GPU, "100kB")


def test_batches_read_ahead_for_a_gpu_are_counted_as_they_are_packed(lenet):
    found = Footprint()
    for _, net in solver_nets(lenet, "solver.prototxt", GPU):
        found.add(net, plan_of(net, GPU))
    assert (found.ahead, found.staged) == (4 * sum(PACKED), ON_GPU)
    assert any(line.startswith("pictures on the GPU") for line in found.lines())
    cpu, floats = Footprint(), 4 * 28 * 28 + 4
    settings = RunSettings(engine="reference")
    for _, net in solver_nets(lenet, "solver.prototxt", settings):
        cpu.add(net, plan_of(net, settings))
    assert (cpu.ahead, cpu.staged) == (4 * 164 * floats, 0)
