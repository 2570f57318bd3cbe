"""Twenty iterations of every recorded solver, its snapshots, and the resumed run."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from geeps_caffe.caffe import get_solver
from geeps_caffe.config.job import RunSettings
from geeps_caffe.solvers import current_step
from prototxt.state import read_state
from prototxt.weights import read_weights
from tests.execution.recorded_solvers import (
    BOUNDS,
    CASES,
    FOLDER,
    check_run,
    check_weights,
    close,
    start,
)
from tests.execution.recordings import inside


@pytest.fixture(params=["reference", "onednn"])
def settings(request):
    return RunSettings(engine=request.param, seed=1, keep_all=True)


@pytest.fixture
def place(tmp_path):
    """A copy of the folder in which the real Caffe ran."""
    shutil.copytree(FOLDER, tmp_path / "solvers")
    with inside(tmp_path / "solvers"):
        yield tmp_path / "solvers"


@pytest.mark.parametrize("case", CASES)
def test_run(case, settings, place):
    check_run(case, settings)


@pytest.mark.parametrize("kind", ["", "_h5"])
@pytest.mark.parametrize("case", CASES)
def test_snapshot_has_the_structure_and_values_of_caffes(case, kind, settings, place):
    rtol = BOUNDS.get(case.split("__")[0], 1e-4)
    theirs = {p.name: p for p in Path(case).glob("snap_iter_10*")}
    recorded = {n: (place / p).read_bytes() for n, p in theirs.items()}
    solver = start(case, settings, f"solver{kind}.prototxt")
    solver.step(10)
    for path in theirs.values():
        path.unlink()
    solver.snapshot()
    end = ".h5" if kind else ""
    (place / "theirs").mkdir()
    for name, content in recorded.items():
        (place / "theirs" / name).write_bytes(content)
    compare_weights(f"{case}/snap_iter_10.caffemodel{end}", rtol)
    compare_states(f"{case}/snap_iter_10.solverstate{end}", rtol)


def compare_weights(ours, rtol):
    found, wanted = read_weights(ours), read_weights(f"theirs/{Path(ours).name}")
    assert found.name == wanted.name
    names = [layer.name for layer in found.layers]
    assert names == [layer.name for layer in wanted.layers]
    for mine, theirs in zip(found.layers, wanted.layers, strict=True):
        assert mine.message() == theirs.message()
        assert len(mine.blobs) == len(theirs.blobs)
        for a, b in zip(mine.blobs, theirs.blobs, strict=True):
            assert (a is None) == (b is None)
            if a is not None:
                assert tuple(a.shape) == tuple(b.shape)
                close(a.array(), b.array(), rtol, mine.name)


def compare_states(ours, rtol):
    found, wanted = read_state(ours), read_state(f"theirs/{Path(ours).name}")
    assert (found.iter, found.learned_net) == (wanted.iter, wanted.learned_net)
    assert found.current_step == wanted.current_step
    assert len(found.history) == len(wanted.history)
    for i, (a, b) in enumerate(zip(found.history, wanted.history, strict=True)):
        assert a.shape == b.shape
        close(a, b, rtol, f"history {i}")


@pytest.mark.parametrize("end", ["", ".h5"])
@pytest.mark.parametrize("case", CASES)
def test_a_state_written_by_caffe_resumes(case, end, settings, place):
    recorded = np.load(f"{case}/result.npz")
    rtol = BOUNDS.get(case.split("__")[0], 1e-4)
    solver = get_solver(f"{case}/solver.prototxt", settings)
    solver.restore(f"{case}/snap_iter_10.solverstate{end}")
    assert solver.iter == 10
    solver.step(10)
    check_weights(solver, recorded, "resume/weights/20/", rtol)


def test_current_step_is_that_of_the_last_rate(place):
    recorded = np.load("SGD__step/result.npz")
    param = get_solver("SGD__step/solver.prototxt").param
    assert current_step(param, 9) == int(recorded["state/current_step"])
