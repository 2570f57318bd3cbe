"""Workers and hosts that are killed or stopped in the midst of training."""

import os
import re
import signal
import subprocess
import time
from pathlib import Path

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


AGENTS_END = pytest.mark.parametrize(
    ("number", "what"),
    [
        (signal.SIGKILL, r"the host agent is gone"),
        (signal.SIGSTOP, r"no sign of life from the host agent for 2 s"),
    ],
)


def assert_without_agent(output, rank, what):
    """A worker says for what it waited, at which clock, and why no longer."""
    what_for = r"table '\S+' with clock|a meeting after clock|the flags of clock"
    waited = rf"waited for ({what_for}) \d+"
    pattern = rf"rank {rank} \(process \d+\) {waited}: {what}"
    assert re.search(pattern, output), output


@AGENTS_END
def test_an_agent_that_ends_or_stands_still_ends_its_workers(folder, number, what):
    launcher = start(folder, "-workers=2", "-silence_seconds=2")
    process_of(folder, 1)
    children = Path(f"/proc/{launcher.pid}/task/{launcher.pid}/children")
    workers = children.read_text().split()
    assert len(workers) == 2
    launcher.send_signal(number)
    for worker in workers:
        wait_for_end(worker)
    launcher.kill()
    _, output = end_of(launcher)
    assert_without_agent(output, 0, what)
    assert_without_agent((folder / "logs" / "rank1.log").read_text(), 1, what)
    assert_rescued(folder, output)


def wait_for_end(process):
    """Until it is gone, or waits for its parent to notice that."""
    end, status = time.monotonic() + PATIENCE, Path(f"/proc/{process}/stat")
    while time.monotonic() < end:
        try:
            if status.read_text().rpartition(")")[2].split()[0] == "Z":
                return
        except (FileNotFoundError, ProcessLookupError):
            return
        os.sched_yield()
    raise AssertionError(f"process {process} does not end")


@pytest.mark.parametrize(
    ("number", "what"),
    [
        (signal.SIGKILL, r"lost host \S+ \(rank 1\): its connection was closed"),
        (signal.SIGSTOP, r"no sign of life for 2 s from host \S+ \(rank 1\)"),
    ],
)
def test_an_agent_of_another_host_ends_all_hosts(folder, number, what):
    lines = [f"127.0.0.1:{port}" for port in free_ports(2)]
    (folder / "machines").write_text("\n".join(lines) + "\n")
    flags = ("-machinefile=machines", "-silence_seconds=2")
    hosts = [start(folder, *flags, f"-worker_id={h}") for h in range(2)]
    process_of(folder, 1)
    hosts[1].send_signal(number)
    code, output = end_of(hosts[0])
    hosts[1].kill()
    end_of(hosts[1])
    assert code == EXIT_PEER_LOST
    clock = r"; the last clock of host \S+ \(rank 0\) was \d+"
    assert re.search(what + clock, output), output
    assert_rescued(folder, output)
    agents = {signal.SIGKILL: "the host agent is gone", signal.SIGSTOP: "no sign of "}
    own = (folder / "logs" / "rank1.log").read_text()
    assert_without_agent(own, 1, agents[number])


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
