"""A snapshot that is cut short at any step leaves the one before it usable."""

import errno
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from geeps_caffe.errors import InputError
from geeps_caffe.execution.reports import SnapshotFailed, Snapshotting
from prototxt.state import read_state
from tests.execution.recordings import inside
from tests.execution.small import Run, make_place, same_weights
from tests.faulty_disk import FaultyDisk, Stop

NEVER = 10**9
FULL = OSError(errno.ENOSPC, "no space")
FORMATS = {"BINARYPROTO": "", "HDF5": ".h5"}


@pytest.fixture(autouse=True)
def place(tmp_path):
    make_place(tmp_path)
    with inside(tmp_path):
        yield tmp_path


@pytest.fixture(params=FORMATS)
def format(request):
    return request.param


def steps_of_a_snapshot(run, disk):
    """How many steps there are to fail at."""
    disk.fail(NEVER, Stop())
    run.trainer.snapshot()
    return NEVER - disk.left


def files(place, iteration):
    """What of the snapshot at an iteration is there, by the name's ending."""
    found = place.glob(f"solver_iter_{iteration}.*")
    return {p.name.split(".", 1)[1]: p.read_bytes() for p in found}


def forget(place, iteration):
    for path in place.iterdir():
        if f"solver_iter_{iteration}." in path.name:
            path.unlink()


def check_usable(place, weights):
    """Every state can be resumed; the one of iteration 2 gives these weights."""
    states = list(place.glob("solver_iter_*.solverstate*"))
    assert states
    for path in states:
        with Run("") as resumed:
            resumed.trainer.restore(path.name)
            assert resumed.trainer.iteration == read_state(path.name).iter
            if resumed.trainer.iteration == 2:
                assert same_weights(resumed.weights(), weights)


@pytest.mark.parametrize("fault", [Stop(), FULL], ids=["kill", "full disk"])
def test_a_fault_at_any_step_leaves_the_pair_before_it(place, format, fault):
    disk = FaultyDisk(NEVER, Stop())
    with Run(f"snapshot: 2 snapshot_format: {format}", disk=disk) as run:
        run.trainer.step(2)
        weights, before = run.weights(), files(place, 2)
        run.trainer.step(1)
        steps = steps_of_a_snapshot(run, disk)
        assert steps >= 15  # three files: create, write, sync, rename, sync the folder
        for at in range(steps):
            forget(place, 3)
            disk.fail(at, fault)
            with pytest.raises((Stop, InputError)):
                run.trainer.snapshot()
            assert files(place, 2) == before
            there = files(place, 3)
            end = FORMATS[format]
            assert "solverstate" + end not in there or len(there) == 3
            if at in (steps // 2, steps - 1):
                check_usable(place, weights)
    check_usable(place, weights)


def test_training_goes_on_after_a_full_disk_at_any_step(place, format):
    disk = FaultyDisk(NEVER, Stop())
    with Run(f"snapshot: 1 snapshot_format: {format}", disk=disk) as run:
        run.trainer.step(1)
        steps = steps_of_a_snapshot(run, disk)
        for at in range(steps):
            disk.fail(at, FULL)
            run.trainer.step(1)
        failed = run.of(SnapshotFailed)
        assert len(failed) == steps
        assert all("full; make room" in report.reason for report in failed)
        disk.fail(NEVER, FULL)
        run.trainer.step(1)
        assert not list(place.glob(".*.part"))
        assert len(files(place, steps + 2)) == 3
        weights = run.weights()
    with Run("") as resumed:
        resumed.trainer.restore(f"solver_iter_{steps + 2}.solverstate{FORMATS[format]}")
        assert same_weights(weights, resumed.weights())


def test_a_run_whose_last_snapshot_fails_fails(format):
    """One on the way at the last iteration is the last one, too."""
    disk = FaultyDisk(NEVER, Stop())

    def fill():
        disk.fail(0, FULL)
        return 0

    text = f"snapshot: 2 max_iter: 2 snapshot_format: {format}"
    with Run(text, disk=disk, requested=fill) as run:
        with pytest.raises(InputError, match="full; make room"):
            run.trainer.solve()
        assert len(run.of(SnapshotFailed)) == 1


def test_a_full_disk_does_not_touch_an_older_snapshot_of_the_same_name(place, format):
    disk = FaultyDisk(NEVER, Stop())
    with Run(f"snapshot: 2 snapshot_format: {format}") as old:
        old.trainer.step(2)
    before = files(place, 2)
    with Run(f"base_lr: 0.5 snapshot_format: {format}", disk=disk) as run:
        run.trainer.step(2)
        for at in range(steps_of_a_snapshot(run, disk) - 6):  # until the first rename
            for ending, content in before.items():
                (place / f"solver_iter_2.{ending}").write_bytes(content)
            disk.fail(at, FULL)
            with pytest.raises(InputError):
                run.trainer.snapshot()
            assert files(place, 2) == before


def test_the_limit_of_a_files_size_is_a_fault_like_others(place):
    kinds = resource.getrlimit(resource.RLIMIT_FSIZE)
    with Run("snapshot: 1") as run:
        run.trainer.step(1)
        try:
            resource.setrlimit(resource.RLIMIT_FSIZE, (100, kinds[1]))
            run.trainer.step(1)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, kinds)
        run.trainer.step(1)
        assert len(run.of(SnapshotFailed)) == 1
        assert len(run.of(Snapshotting)) == 6
        weights = run.weights()
    with Run("") as resumed:
        resumed.trainer.restore("solver_iter_3.solverstate")
        assert same_weights(weights, resumed.weights())


CHILD = """
from tests.execution.small import Run

class Told(list):
    def append(self, report):
        print(type(report).__name__, flush=True)

run = Run("snapshot: 1 max_iter: 100000")
run.trainer.report = Told().append
run.trainer.step(100000)
"""


@pytest.mark.parametrize("lines", [7, 20])
def test_a_killed_process_leaves_pairs_that_resume(place, lines):
    here = str(Path(__file__).parents[2])
    path = os.pathsep.join([here, os.environ.get("PYTHONPATH", "")])
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD],
        stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": path},
    )
    for _ in range(lines):
        assert child.stdout.readline() == b"Snapshotting\n"
    child.send_signal(signal.SIGKILL)
    child.communicate()
    states = list(place.glob("solver_iter_*.solverstate"))
    assert len(states) >= lines // 2 - 1
    for state in states:
        assert read_state(state).weights_path().is_file()
    last = max(states, key=lambda p: read_state(p).iter)
    with Run("") as resumed:
        resumed.trainer.restore(last.name)
        resumed.trainer.step(2)
