"""Several hosts on this machine, from the command line, started in GeePS's ways."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from geeps_caffe.errors import EXIT_INPUT, EXIT_PEER_LOST
from tests.end_to_end.digits import make_database, make_lenet
from tests.end_to_end.program import command, environment, messages, run
from tests.end_to_end.test_workers import difference
from tests.paramserver.hosts.test_launch_host import free_ports

pytest.importorskip("zmq")
pytestmark = pytest.mark.slow
TRAIN = ("train", "-solver=solver.prototxt", "-threads=1")
EXACT = ("-engine=reference", "-dtype=float64", "-batch_mode=global")
PATH = os.environ.get("PATH", os.defpath)
PS_CONFIG = """num_channels=4
slack=0
gpu_memory_capacity=4200000000
mm_warning_level=3
layers_per_table=10
debug=0
"""


def lenet(folder, **fields):
    folder.mkdir(exist_ok=True)
    make_lenet(folder, np.random.default_rng(1), max_iter=10, snapshot=0, **fields)
    (folder / "ps_config").write_text(PS_CONFIG)
    return folder


def run_hosts(folder, flags, variables, folders=()):
    """Standard errors of all hosts, each with its flags and variables; all must end.

    They run in `folder`, or each in its own of `folders`.
    """
    places = folders or [folder] * len(flags)
    started = [
        subprocess.Popen(
            command(*TRAIN, *one),
            cwd=place,
            env={**environment(), **more},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        for one, more, place in zip(flags, variables, places, strict=True)
    ]
    outputs = [process.communicate(timeout=100)[1] for process in started]
    return [process.returncode for process in started], outputs


@pytest.fixture(scope="module")
def one(tmp_path_factory):
    """The weights of one process, and the folder with all files."""
    folder = lenet(tmp_path_factory.mktemp("cluster"))
    run(folder, *TRAIN, *EXACT)
    (folder / "lenet_iter_10.caffemodel").rename(folder / "one.caffemodel")
    return folder


def machine_file(folder, hosts):
    lines = [f"127.0.0.1:{port}" for port in free_ports(hosts)]
    (folder / "machines").write_text("\n".join(lines) + "\n")


def test_one_line_is_the_plain_trainer_with_geeps_own_files(one):
    (one / "machine").write_text("127.0.0.1\n")
    log = run(one, *TRAIN, *EXACT, "-machinefile=machine", "-ps_config=ps_config")
    assert "Optimization Done." in messages(log)
    new = one / "lenet_iter_10.caffemodel"
    assert new.read_bytes() == (one / "one.caffemodel").read_bytes()


@pytest.mark.parametrize("workers", [1, 2])
def test_hosts_of_a_machine_file_end_with_the_weights_of_one_process(one, workers):
    machine_file(one, 2)
    same = (*EXACT, "-machinefile=machines", "-ps_config=ps_config", "-log_dir=logs")
    same = (*same, f"-workers={workers}", "-stats=stats.json")
    flags = [(*same, f"-worker_id={number}") for number in range(2)]
    codes, outputs = run_hosts(one, flags, [{}, {}])
    assert codes == [0, 0], outputs
    assert difference(one / "one.caffemodel", one / "lenet_iter_10.caffemodel") < 1e-6
    ranks = 2 * workers
    banner = (
        f"batch {64 // ranks} x {ranks} workers x iter_size 1 = 64 images an update"
    )
    assert any(line.startswith(banner) for line in messages(outputs[0]))
    stats = json.loads((one / "stats.json").read_text())
    assert stats["tables"]["conv1..ip2"]["staleness"].keys() == {"0"}
    assert stats["layers"]["conv1"]["backward"] > 0


def test_two_hosts_train_a_small_net_to_the_bytes_of_one_process(tmp_path):
    """In single precision; one process has two threads."""
    folder, same = lenet(tmp_path), ("-engine=onednn", "-batch_mode=global")
    run(folder, *TRAIN, *same, "-threads=2")
    new, alone = folder / "lenet_iter_10.caffemodel", folder / "one.caffemodel"
    new.rename(alone)
    machine_file(folder, 2)
    same = (*same, "-machinefile=machines", "-log_dir=logs")
    flags = [(*same, f"-worker_id={number}") for number in range(2)]
    codes, outputs = run_hosts(folder, flags, [{}, {}])
    assert codes == [0, 0], outputs
    assert new.read_bytes() == alone.read_bytes()


def test_ranks_that_a_launcher_starts_find_each_other(one):
    (port,) = free_ports(1)
    place = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": "2"}
    variables = [{**place, "RANK": str(rank)} for rank in range(2)]
    codes, outputs = run_hosts(one, [(*EXACT, "-log_dir=logs")] * 2, variables)
    assert codes == [0, 0], outputs
    assert difference(one / "one.caffemodel", one / "lenet_iter_10.caffemodel") < 1e-6


def test_two_of_three_ranks_end_by_naming_the_third(one):
    machine_file(one, 3)
    same = ("-machinefile=machines", "-join_seconds=8", "-log_dir=logs", "-threads=1")
    flags = [(*same, f"-worker_id={number}") for number in (0, 2)]
    codes, outputs = run_hosts(one, flags, [{}, {}])
    assert codes == [EXIT_PEER_LOST, EXIT_PEER_LOST]
    for output in outputs:
        assert "no connection for 8 s from host 127.0.0.1 (rank 1)" in output


def test_two_of_three_launched_ranks_end_by_naming_the_third(one):
    (port,) = free_ports(1)
    place = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": "3"}
    variables = [{**place, "RANK": rank} for rank in ("0", "2")]
    codes, outputs = run_hosts(one, [("-join_seconds=8",)] * 2, variables)
    assert codes == [EXIT_PEER_LOST, EXIT_PEER_LOST]
    for output in outputs:
        assert "no connection for 8 s from rank 1" in output


def lenet_for_each(folder, workers):
    """GeePS's way: templates, and a database a worker; all hold the same here."""
    lenet(folder)
    for name in ("solver", "train_val"):
        text = (folder / f"{name}.prototxt").read_text()
        text = text.replace("train_val.prototxt", "train_val.prototxt.%")
        text = text.replace("train_lmdb", "train_lmdb.%")
        (folder / f"{name}.prototxt.template").write_text(text)
        (folder / f"{name}.prototxt").unlink()
    for worker in range(workers):
        os.symlink("digits_train_lmdb", folder / f"digits_train_lmdb.{worker}")
    return folder


def test_files_made_for_each_worker_are_taken_with_data_of_their_own(tmp_path):
    folder = lenet_for_each(tmp_path, 2)
    machine_file(folder, 2)
    same = ("-machinefile=machines", "-log_dir=logs", "-engine=reference")
    flags = [(*same, f"-worker_id={number}") for number in range(2)]
    codes, outputs = run_hosts(folder, flags, [{}, {}])
    assert codes == [0, 0], outputs
    assert (
        "batch 64 x 2 workers x iter_size 1 = 128 images an update; one epoch = 5 "
        "iterations; gradients are averaged; each worker has records of its own"
    ) in messages(outputs[0])
    two = (folder / "lenet_iter_10.caffemodel").rename(folder / "two.caffemodel")
    # both saw the same records in the same order: together they are one of them
    alone = lenet(tmp_path / "alone")
    run(alone, *TRAIN, "-engine=reference")
    assert difference(alone / "lenet_iter_10.caffemodel", two) < 1e-4
    # and so do workers of one host
    run(folder, *TRAIN, "-engine=reference", "-workers=2", "-log_dir=logs")
    assert difference(folder / "lenet_iter_10.caffemodel", two) < 1e-4


def test_keys_of_a_ps_config_that_are_unknown_are_named_with_their_lines(one):
    (one / "wrong").write_text("slack=0\nslak=1\n")
    log = run(one, *TRAIN, "-ps_config=wrong", code=EXIT_INPUT)
    assert "wrong:2: unknown key 'slak'; did you mean 'slack'?" in log


def test_hosts_that_train_other_nets_are_refused(one):
    machine_file(one, 2)
    changed = (one / "solver.prototxt").read_text().replace("0.01", "0.02")
    (one / "other.prototxt").write_text(changed)
    same = ("-machinefile=machines", "-log_dir=logs", "-join_seconds=15")
    flags = [
        (*same, "-worker_id=0"),
        (*same, "-worker_id=1", "-solver=other.prototxt"),
    ]
    codes, outputs = run_hosts(one, flags, [{}, {}])
    assert 0 not in codes
    assert any("does not run the same job" in output for output in outputs)


def test_hosts_whose_test_data_differ_in_length_are_refused(tmp_path):
    folders = [lenet(tmp_path / "a"), lenet(tmp_path / "b")]
    shutil.rmtree(folders[1] / "digits_test_lmdb")
    make_database(folders[1] / "digits_test_lmdb", 90, np.random.default_rng(1))
    machine_file(tmp_path, 2)
    same = (f"-machinefile={tmp_path}/machines", "-log_dir=logs")
    flags = [(*same, f"-worker_id={number}") for number in range(2)]
    codes, outputs = run_hosts(tmp_path, flags, [{}, {}], folders)
    assert codes == [EXIT_INPUT, EXIT_INPUT], outputs
    assert "test net #0, layer 'mnist' (Data)" in outputs[1]
    assert "this worker (rank 1) finds 90 records" in outputs[1]


def test_mpi_connects_hosts_too(one):
    pytest.importorskip("mpi4py")
    mpiexec = shutil.which("mpiexec", path=f"{Path(sys.executable).parent}:{PATH}")
    if mpiexec is None:
        pytest.skip("there is no mpiexec")
    words = command(*TRAIN, *EXACT, "-transport=mpi", "-log_dir=logs")
    done = subprocess.run(
        [mpiexec, "-n", "2", *words],
        cwd=one,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    assert difference(one / "one.caffemodel", one / "lenet_iter_10.caffemodel") < 1e-6


def test_with_mpi_a_process_that_can_not_begin_ends_all(one):
    pytest.importorskip("mpi4py")
    mpiexec = shutil.which("mpiexec", path=f"{Path(sys.executable).parent}:{PATH}")
    if mpiexec is None:
        pytest.skip("there is no mpiexec")
    good = command(*TRAIN, "-transport=mpi", "-log_dir=logs")
    bad = command("train", "-solver=none.prototxt", "-transport=mpi")
    done = subprocess.run(
        [mpiexec, "-n", "1", *good, ":", "-n", "1", *bad],
        cwd=one,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == EXIT_INPUT, done.stderr
    assert "none.prototxt: no such file" in done.stdout + done.stderr
