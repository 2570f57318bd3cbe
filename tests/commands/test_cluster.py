"""What all hosts of a job must have in common, before they meet."""

import os

import pytest

from geeps_caffe.commands.caffe_flags import read_line
from geeps_caffe.commands.cluster import find_cluster, with_job
from geeps_caffe.commands.train import main, read_solver
from geeps_caffe.errors import UsageError
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


def differing(one, other):
    """What two hosts have not alike."""
    return {name for name in one | other if one.get(name) != other.get(name)}


def test_mpi_and_a_machine_file_can_not_both_say_who_takes_part():
    line = read_line(["-transport=mpi", "-machinefile=machines"], "train")
    with pytest.raises(UsageError, match="-transport mpi and -machinefile"):
        find_cluster(line, {}, 1)


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


def test_weights_are_compared_by_what_is_in_them(job):
    flag = "-weights=small_iter_3.caffemodel"
    here = job_of(flag)
    (job / "small_iter_6.caffemodel").rename(job / "small_iter_3.caffemodel")
    there = job_of(flag)
    assert differing(here, there) == {"weights"}


LAYERS = """
layer { name: "mine" type: "Python" bottom: "ip" top: "mine"
  python_param { module: "pack.mine" layer: "Mine" } }
layer { name: "i" type: "InfogainLoss" bottom: "ip" bottom: "label" top: "i"
  infogain_loss_param { source: "matrix.binaryproto" } }
layer { name: "more" type: "Data" top: "more" include { phase: TEST }
  data_param { source: "db" } transform_param { mean_file: "mean.binaryproto" } }
"""


@pytest.mark.parametrize(
    ("file", "what"),
    [
        ("pack/mine.py", "Python module pack.mine"),
        ("matrix.binaryproto", "infogain matrix matrix.binaryproto"),
        ("mean.binaryproto", "mean_file mean.binaryproto"),
    ],
)
@pytest.mark.parametrize("inline", [False, True])
def test_files_that_layers_compute_with_are_compared(job, file, what, inline):
    (job / "pack").mkdir()
    for name in ("pack/mine.py", "matrix.binaryproto", "mean.binaryproto"):
        (job / name).write_text("one")
    text = (job / "net.prototxt").read_text() + LAYERS
    (job / "net.prototxt").write_text(text)
    if inline:
        solver = (job / "solver.prototxt").read_text()
        field = f"net_param {{ {text} }}"
        solver = solver.replace('net: "net.prototxt"', field)
        (job / "solver.prototxt").write_text(solver)
    here = job_of()
    (job / file).write_text("other")
    assert differing(here, job_of()) == {what}


def test_nets_of_one_file_name_in_several_folders_are_all_compared(job):
    nets = {"train_net": "a/net.prototxt", "test_net": "b/net.prototxt"}
    for name in nets.values():
        (job / name).parent.mkdir()
        (job / name).write_text((job / "net.prototxt").read_text())
    fields = "".join(f'{field}: "{name}"\n' for field, name in nets.items())
    solver = (job / "solver.prototxt").read_text()
    (job / "solver.prototxt").write_text(
        solver.replace('net: "net.prototxt"\n', fields)
    )
    for field, name in nets.items():
        here = job_of()
        (job / name).write_text((job / name).read_text() + "# changed")
        assert differing(here, job_of()) == {f"{field} {name}"}


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
