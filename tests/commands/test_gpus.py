"""Choosing GPUs from flags and solver, with the double in CuPy's place or nothing."""

import pytest

from geeps_caffe.commands.caffe_flags import read_line
from geeps_caffe.commands.gpus import (
    choose_device,
    planned_gpus,
    read_gpus,
    wanted_gpus,
)
from geeps_caffe.commands.line_settings import run_settings
from geeps_caffe.commands.train import main
from geeps_caffe.errors import UsageError
from geeps_caffe.paramserver.connect import local_place
from tests.commands.small_job import write_job
from tests.cuda_double.fixtures import double

__all__ = ["double"]


class Said:
    """A session that keeps what is said."""

    def __init__(self):
        self.lines, self.warnings = [], []

    def say(self, where, text):
        self.lines.append(text)

    def warn(self, text):
        self.warnings.append(text)


def choose(flags, solver_gpu=None):
    said = Said()
    found = choose_device(said, read_line(flags, "train"), "caffe.cpp:197", solver_gpu)
    return found, said


@pytest.mark.usefixtures("double")
@pytest.mark.parametrize(
    ("flags", "solver_gpu", "chosen"),
    [
        ([], None, ()),
        ([], 0, (0,)),
        (["-gpu=0"], None, (0,)),
        (["-gpu=all"], None, (0,)),
        (["-engine=cuda"], None, (0,)),
        (["-engine=onednn", "-gpu=0"], None, ()),
        (["-dtype=float64"], 0, ()),
    ],
)
def test_a_gpu_is_used_where_flags_or_solver_ask_for_it(flags, solver_gpu, chosen):
    found, said = choose(flags, solver_gpu)
    assert found == chosen
    assert said.lines == ["Using GPUs 0" if chosen else "Use CPU."]
    assert not said.warnings


@pytest.mark.usefixtures("double")
def test_a_gpu_that_is_not_there_is_refused():
    with pytest.raises(UsageError, match="1 usable GPUs, from 0 up"):
        choose(["-gpu=1"])


@pytest.mark.parametrize("text", ["one", "0,,1", "-1", "0,0"])
def test_what_names_no_gpus_is_refused(text):
    with pytest.raises(UsageError, match="-gpu is"):
        read_gpus(text, 2)


def test_what_names_no_gpus_is_refused_without_a_gpu_too():
    with pytest.raises(UsageError, match="-gpu is 'one'"):
        choose(["-gpu=one"])


PLANNED = [
    ([], None, ()),
    (["-gpu=0"], None, (0,)),
    (["-gpu=2,5"], 0, (2, 5)),
    (["-gpu=all"], 0, (0,)),
    (["-engine=cuda"], 1, (1,)),
    (["-engine=cuda"], None, (0,)),
    (["-engine=onednn", "-gpu=0"], 0, ()),
    (["-dtype=float64", "-gpu=0"], 0, ()),
]


@pytest.mark.parametrize(("flags", "solver_gpu", "wanted"), PLANNED)
def test_gpus_that_are_not_here_are_planned_for(flags, solver_gpu, wanted):
    assert planned_gpus(read_line(flags, "plan"), solver_gpu) == wanted


def test_a_solver_in_mode_gpu_is_planned_for_one_that_is_here(double):
    assert planned_gpus(read_line([], "plan"), 3) == (3,)


def test_a_solver_in_mode_gpu_is_planned_for_the_cpu_where_there_is_no_gpu():
    assert planned_gpus(read_line([], "plan"), 3) == ()


def test_ranks_take_turns_with_the_gpus():
    line = read_line([], "train")
    found = [run_settings(line, rank, 4, (0, 2)) for rank in range(4)]
    assert [s.gpu for s in found] == [0, 2, 0, 2]
    assert {s.engine for s in found} == {"cuda"}


def test_the_place_on_the_host_decides_not_that_in_the_job():
    """The second host of two with two GPUs each: ranks 2 and 3 are its first two."""
    line = read_line([], "train")
    found = [run_settings(line, 2 + i, 4, (0, 1), (i, 2)) for i in range(2)]
    assert [s.gpu for s in found] == [0, 1]
    alone = run_settings(line, 3, 4, (0,), (0, 1))
    assert alone.gpu == 0
    assert alone.threads == run_settings(line).threads


def test_workers_are_told_their_place_on_the_host():
    told = {"GEEPS_CAFFE_LOCAL_RANK": "1", "GEEPS_CAFFE_LOCAL_RANKS": "2"}
    assert local_place(told) == (1, 2)
    assert local_place({}) == (0, 1)
    with pytest.raises(UsageError, match="GEEPS_CAFFE_LOCAL_RANKS is 'two'"):
        local_place({**told, "GEEPS_CAFFE_LOCAL_RANKS": "two"})


def test_without_a_gpu_there_is_no_worker_for_it():
    assert wanted_gpus(read_line(["-gpu=0,1"], "train")) == ()


@pytest.mark.usefixtures("double")
def test_a_job_trains_on_the_gpu_of_its_solver(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write_job(tmp_path, solver_mode="GPU")
    assert main(["-solver=solver.prototxt"]) == 0
    log = capsys.readouterr().err
    assert "Using GPUs 0" in log
    assert "Optimization Done." in log
