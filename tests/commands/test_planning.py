from dataclasses import replace
from pathlib import Path

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
from geeps_caffe.config.param_cache import ParamCache
from geeps_caffe.errors import BudgetError
from geeps_caffe.execution.job_budget import refusal
from geeps_caffe.execution.trainer import Trainer
from geeps_caffe.schedule.plan import least_of
from prototxt import parse_solver, read_solver
from tests.cuda_double.fixtures import double
from tests.end_to_end.digits import make_lenet

__all__ = ["double"]


def limited(memory, settings):
    """The settings of a solver's run within so much memory."""
    solver = read_solver("solver.prototxt").message
    nets = (net for _, net in solver_nets(solver, "solver.prototxt", settings))
    return with_budget(nets, settings, memory)


def test_a_share_is_one_of_the_plan_without_limit(job):
    settings = RunSettings(engine="reference")
    half, whole = (limited(share, settings).memory for share in ("50%", "100%"))
    assert half == whole // 2
    assert half > 0


def test_bytes_are_bytes(job):
    assert limited("3kB", RunSettings()).memory == 3000
    assert limited("", RunSettings()).memory is None


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
    within = limited("3MB", GPU)
    assert (within.memory, within.staged) == (3_000_000 - ON_GPU, ON_GPU)
    whole = limited("100%", GPU).memory
    assert limited("50%", GPU).memory == (whole + ON_GPU) // 2 - ON_GPU
    assert limited("3MB", RunSettings(engine="reference")).memory == 3_000_000


def test_the_least_budget_of_a_gpu_holds_the_pictures_that_wait(lenet):
    error = BudgetError(1000, "'forward ip' needs 2,000 (ip 2,000)", 2000)
    assert str(refusal(error, [], 500)) == (
        "a budget of 1,500 bytes is too small. 'forward ip' needs 2,000 (ip 2,000). "
        "Give at least 2,500 bytes (500 of them for pictures that wait on the GPU), or "
        "make the batch smaller"
    )


@pytest.mark.parametrize("memory", ["100kB", "0.1%", "137152B"])
def test_a_budget_for_nothing_but_pictures_is_refused_with_the_least(lenet, memory):
    solver = ("solver.prototxt", GPU)
    least = max(least_of(net.program) for _, net in solver_nets(lenet, *solver))
    match = r"too small. 137,152 bytes are for pictures that wait on the GPU. Give at"
    with pytest.raises(BudgetError, match=match) as error:
        limited(memory, GPU)
    assert error.value.least == least + ON_GPU
    assert limited(f"{least + ON_GPU}B", GPU).memory == least


FLAGS = [
    RunSettings(engine="reference"),
    RunSettings(engine="onednn"),
    RunSettings(engine="onednn", plain_tables=True, update="worker"),
    RunSettings(engine="cuda"),
    RunSettings(engine="cuda", param_cache=ParamCache("pinned")),
    RunSettings(engine="cuda", update="worker"),
]
FIELDS = ["", "debug_info: true", "iter_size: 2", "clip_gradients: 1"]


@pytest.mark.usefixtures("double")
@pytest.mark.parametrize("settings", FLAGS, ids=str)
@pytest.mark.parametrize("field", FIELDS)
def test_what_is_planned_is_what_runs(lenet, settings, field):
    if field == "clip_gradients: 1" and settings.update == "worker":
        return  # refused
    solver = parse_solver(f"{Path('solver.prototxt').read_text()} {field}", "s").message
    trainer = Trainer(solver, "solver.prototxt", settings)
    nets = [trainer.net, *(test.net for test in trainer.tests)]
    found = [net.program for _, net in solver_nets(solver, "solver.prototxt", settings)]
    trainer.close()
    assert [program_text(p) for p in found] == [program_text(n.program) for n in nets]


def program_text(program):
    sizes = program.storage_bytes()
    return [entry.text for entry in program.instructions], sizes


def test_workers_of_a_gpu_are_planned_with_a_cache_of_their_tables(lenet):
    """They can't reach those of the host."""
    two = replace(GPU, ranks=2)
    nets = [net for _, net in solver_nets(lenet, "solver.prototxt", two)]
    assert {net.options.param_cache for net in nets} == {ParamCache()}
    assert "conv1/0" in nets[0].program.storage_bytes()


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
