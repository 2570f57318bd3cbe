"""Two workers of half a batch train as one of the whole; and under a tight budget."""

import shutil
from pathlib import Path

import pytest

from geeps_caffe.config.job import RunSettings
from tests.execution.recordings import inside
from tests.execution.workers import largest_difference, train, train_alone

FOLDER = Path(__file__).parents[1] / "golden" / "solvers"
CASES = sorted(p.name for p in FOLDER.iterdir() if p.is_dir())


@pytest.fixture
def place(tmp_path):
    shutil.copytree(FOLDER, tmp_path / "solvers")
    with inside(tmp_path / "solvers"):
        yield


def settings_for(engine, dtype, memory=None):
    def settings(rank, ranks):
        return RunSettings(
            engine=engine,
            dtype=dtype,
            seed=1,
            rank=rank,
            ranks=ranks,
            batch_mode="global",
            memory=memory,
            poison=memory is not None,
        )

    return settings


def ten_steps(case):
    def work(trainer):
        net = trainer.solver.net.removeprefix("net_").removesuffix(".prototxt")
        trainer.finetune(f"init_{net}.caffemodel")
        trainer.step(10)

    return work


@pytest.mark.parametrize("case", CASES)
def test_two_workers_equal_one_to_the_last_digits_of_a_double(case, place):
    solver = f"{case}/solver.prototxt"
    settings = settings_for("reference", "float64")
    alone = train_alone(solver, settings, ten_steps(case))
    together = train(solver, settings, 2, ten_steps(case))
    assert largest_difference(alone, together) < 1e-9


@pytest.mark.parametrize("engine", ["reference", "onednn"])
@pytest.mark.parametrize("case", CASES)
def test_a_tight_budget_changes_no_bit(case, engine, place):
    solver = f"{case}/solver.prototxt"
    free = settings_for(engine, "float32")
    alone = train_alone(solver, free, ten_steps(case))
    least = least_bytes(solver, free)
    tight = train_alone(solver, settings_for(engine, "float32", least), ten_steps(case))
    assert largest_difference(alone, tight) == 0


def least_bytes(solver, settings):
    found = []
    train_alone(
        solver, settings, lambda t: found.append(t.net.executor.plan.least_bytes)
    )
    return found[0] * 5 // 4


@pytest.mark.parametrize("case", ["SGD__mom09_wdL2", "Adam__mults_wdL2"])
def test_two_runs_of_two_workers_are_bit_identical(case, place):
    solver = f"{case}/solver.prototxt"
    settings = settings_for("onednn", "float32")
    first = train(solver, settings, 2, ten_steps(case))
    second = train(solver, settings, 2, ten_steps(case))
    assert largest_difference(first, second) == 0
