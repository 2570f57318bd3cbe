"""Workers and hosts that are killed or stopped in the midst of training."""

import os
import re
import signal
import subprocess
import time

import numpy as np
import pytest

from geeps_caffe.errors import EXIT_PEER_LOST
from prototxt import read_weights
from tests.end_to_end.digits import make_lenet
from tests.end_to_end.program import command, environment
from tests.paramserver.hosts.test_launch_host import free_ports

pytest.importorskip("zmq")
pytestmark = pytest.mark.slow
TRAIN = ("train", "-solver=solver.prototxt", "-threads=1", "-log_dir=logs")
PATIENCE = 60  # seconds


@pytest.fixture
def folder(tmp_path):
    fields = {"max_iter": 100_000, "display": 5, "snapshot": 0, "test_interval": 99999}
    make_lenet(tmp_path, np.random.default_rng(1), **fields)
    return tmp_path


def start(folder, *flags):
    return subprocess.Popen(
        command(*TRAIN, *flags),
        cwd=folder,
        env=environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def process_of(folder, rank):
    """The process of a rank above 0, once it has trained a little."""
    end = time.monotonic() + PATIENCE
    path = folder / "logs" / f"rank{rank}.log"
    while time.monotonic() < end:
        text = path.read_text() if path.exists() else ""
        if "Iteration 10, lr" in text:
            return int(re.search(r"^I\d{4} \S+ +(\d+) ", text)[1])
        os.sched_yield()
    raise AssertionError("the workers do not train")


def end_of(process):
    output = process.communicate(timeout=PATIENCE)[1]
    return process.returncode, output


def assert_told(output, what, rank=1):
    pattern = rf"{what} rank {rank} \(host \S+, process \d+\), its last clock was \d+"
    assert re.search(pattern, output), output


def assert_rescued(folder, output):
    (path,) = folder.glob("lenet_rescued_iter_*.caffemodel")
    assert f"The weights as they were are in {path.name}" in output
    for layer in read_weights(str(path)).layers:
        for blob in layer.blobs:
            assert np.isfinite(blob.array()).all()


def test_a_killed_worker_ends_all_and_the_weights_are_saved(folder):
    launcher = start(folder, "-workers=3")
    os.kill(process_of(folder, 1), signal.SIGKILL)
    code, output = end_of(launcher)
    assert code == EXIT_PEER_LOST
    assert_told(output, "lost")
    assert "it was killed by SIGKILL" in output
    assert_told((folder / "logs" / "rank2.log").read_text(), "lost")
    assert_rescued(folder, output)


def test_a_stopped_worker_ends_all_after_the_limit(folder):
    launcher = start(folder, "-workers=2", "-silence_seconds=2")
    stopped = process_of(folder, 1)
    os.kill(stopped, signal.SIGSTOP)
    code, output = end_of(launcher)
    assert code == EXIT_PEER_LOST
    assert_told(output, "no sign of life for 2 s from")
    assert_rescued(folder, output)
    with pytest.raises(ProcessLookupError):
        os.kill(stopped, 0)  # it was not left behind


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_a_worker_of_another_host_ends_all_hosts(folder, number):
    lines = [f"127.0.0.1:{port}" for port in free_ports(2)]
    (folder / "machines").write_text("\n".join(lines) + "\n")
    flags = ("-machinefile=machines", "-silence_seconds=2")
    hosts = [start(folder, *flags, f"-worker_id={h}") for h in range(2)]
    os.kill(process_of(folder, 1), number)
    for host in hosts:
        code, output = end_of(host)
        assert code == EXIT_PEER_LOST
        what = "lost" if number == signal.SIGKILL else "no sign of life for 2 s from"
        assert_told(output, what)


def test_a_signal_stops_all_workers_of_all_hosts_after_one_iteration(folder):
    lines = [f"127.0.0.1:{port}" for port in free_ports(2)]
    (folder / "machines").write_text("\n".join(lines) + "\n")
    flags = ("-machinefile=machines", "-silence_seconds=20")
    hosts = [start(folder, *flags, f"-worker_id={h}") for h in range(2)]
    process_of(folder, 1)
    hosts[1].send_signal(signal.SIGTERM)
    codes, outputs = zip(*(end_of(host) for host in hosts), strict=True)
    assert codes == (6, 6), outputs
    (path,) = folder.glob("lenet_iter_*.caffemodel")
    stopped = re.search(r"iter_(\d+)", path.name)[1]
    assert f"Snapshotting to binary proto file lenet_iter_{stopped}" in outputs[0]
