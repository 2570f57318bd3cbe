"""What all hosts of a job must have in common, before they meet."""

import os

import pytest

from geeps_caffe.commands.caffe_flags import read_line
from geeps_caffe.commands.cluster import with_job
from geeps_caffe.commands.train import main, read_solver
from geeps_caffe.paramserver.cluster import Cluster
from geeps_caffe.paramserver.hosts.places import Places
from tests.commands.small_job import write_job

STATE = "-snapshot=small_iter_3.solverstate"


@pytest.fixture(autouse=True)
def states(job):
    """Snapshots of iterations 3 and 6."""
    write_job(job, max_iter=6, snapshot=3)
    main(["-solver=solver.prototxt"])


def job_of(*flags):
    line = read_line(["-solver=solver.prototxt", *flags], "train")
    places = Places(("a", "b"), (1, 1), 0)
    document = read_solver(line, "solver.prototxt")
    return with_job(Cluster(places), line, document, 0).job


@pytest.mark.parametrize(
    "flag",
    [
        STATE,
        "-weights=small_iter_3.caffemodel",
        "-stage=a",
        "-level=1",
        "-batches_per_clock=2",
        "-slack=1",
        "-seed=4",
    ],
)
def test_flags_that_change_what_is_computed_are_compared(flag):
    assert job_of(flag) != job_of()


def test_flags_that_do_not_are_not_compared():
    assert job_of("-threads=3", "-log_interval=5", "-stats=out.json") == job_of()


def test_states_are_compared_by_iteration_and_data_wherever_they_lie(job):
    here = job_of(STATE)
    (job / "there").mkdir()
    for end in ("solverstate", "position"):
        content = (job / f"small_iter_3.{end}").read_bytes()
        (job / "there" / f"state.{end}").write_bytes(content)
    assert job_of("-snapshot=there/state.solverstate") == here
    assert here["snapshot"].startswith("of iteration 3, its .position ")
    assert job_of(STATE.replace("3", "6"))["snapshot"].startswith("of iteration 6, ")
    os.remove("there/state.position")
    found = job_of("-snapshot=there/state.solverstate")
    assert found["snapshot"] == "of iteration 3, without the .position of its data"
