"""Real processes of several hosts on this one, over ZeroMQ."""

import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from geeps_caffe.errors import (
    EXIT_PARAMETER_SERVER,
    EXIT_PEER_LOST,
    EXIT_USAGE,
)
from geeps_caffe.paramserver import Client, LocalStore
from geeps_caffe.paramserver.transport.keys import make_key, write_key
from tests.paramserver import worker
from tests.paramserver.programs import Program

ROOT = Path(__file__).parents[3]
pytest.importorskip("zmq")


def free_ports(count):
    held = [socket.socket() for _ in range(count)]
    for one in held:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in held]
    for one in held:
        one.close()
    return ports


class Hosts:
    """Processes of all hosts but those in `missing`; `differ` changes one's words."""

    def __init__(self, folder, mode, counts, missing=(), differ=None, **more):
        environ = {**os.environ, "PYTHONPATH": str(ROOT)}
        ports = free_ports(len(counts))
        folder.mkdir(exist_ok=True)
        self.folder, self.ports, self.keyed = folder, ports, "key" in more
        self.processes = {}
        for host in range(len(counts)):
            if host in missing:
                continue
            what = {"host": host, "counts": counts, "ports": ports, "mode": mode}
            what |= {"folder": str(folder), **more, **(differ or {}).get(host, {})}
            self.processes[host] = subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "tests.paramserver.hosts.host",
                    json.dumps(what),
                ],
                env=environ,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )

    def __enter__(self):
        return self

    def __exit__(self, *error):
        for process in self.processes.values():
            process.kill()
            process.communicate()

    def end(self):
        """Exit codes and outputs, by host."""
        return {h: self._end(p) for h, p in self.processes.items()}

    def _end(self, process):
        try:
            output, _ = process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            process.kill()
            output, _ = process.communicate()
            raise AssertionError(f"a host hangs:\n{output}") from None
        return process.returncode, output


def assert_ended_well(hosts):
    for host, (code, output) in hosts.end().items():
        assert code == 0, f"host {host}:\n{output}"


def values(folder, rank):
    with np.load(folder / f"rank{rank}.npz") as file:
        return {name: file[name] for name in file}


def expected(rule, dtype, ranks):
    """One worker with the mean gradients of all."""
    shared = worker.tables(dtype)
    program = Program(Client(LocalStore()), shared, rule=rule, hyper=worker.HYPER)
    program.start([np.ones(t.size) for t in shared])
    for clock in range(worker.CLOCKS):
        updates = [worker.update_of(rank, clock, shared) for rank in range(ranks)]
        program.step([sum(p) / ranks for p in zip(*updates, strict=True)])
    return {t.name: program.client.values(t.name) for t in shared}


@pytest.mark.parametrize(
    ("counts", "more"),
    [
        ([1, 1], {}),
        ([2, 1], {"channels": 3}),
        ([1, 1, 1], {"key": True}),
    ],
)
def test_hosts_equal_one_worker_and_two_runs_are_equal_to_the_bit(
    tmp_path, counts, more
):
    if more.get("key"):
        write_key(tmp_path / "key", make_key())
        more = {"key": str(tmp_path / "key")}
    runs, ranks = [], sum(counts)
    for name in ("first", "second"):
        arguments = ["SGD", "float32"]
        hosts = Hosts(tmp_path / name, "train", counts, arguments=arguments, **more)
        assert_ended_well(hosts)
        runs += [values(tmp_path / name, rank) for rank in range(ranks)]
    for name, wanted in expected("SGD", "float32", ranks).items():
        np.testing.assert_allclose(runs[0][name], wanted, 1e-5, 1e-6)
        for other in runs[1:]:
            np.testing.assert_array_equal(other[name], runs[0][name])


def test_a_killed_worker_ends_all_hosts_with_its_name_and_clock(tmp_path):
    hosts = Hosts(tmp_path, "killed", [1, 1, 1])
    for code, output in hosts.end().values():
        assert code == EXIT_PEER_LOST
        assert "lost rank 1 (host 127.0.0.1, process" in output
        assert "its last clock was 2: it was killed by SIGKILL" in output


def test_a_killed_agent_ends_all_hosts_with_its_name(tmp_path):
    hosts = Hosts(tmp_path, "forever", [1, 1])
    wait_for(tmp_path / "rank1.started")
    hosts.processes[1].kill()
    code, output = hosts.end()[0]
    assert code == EXIT_PEER_LOST
    assert "lost host 127.0.0.1 (rank 1): its connection was closed" in output


def wait_for(path):
    end = time.monotonic() + 30
    while not path.exists():
        assert time.monotonic() < end
        os.sched_yield()


@pytest.mark.slow
def test_a_stopped_agent_ends_all_hosts_with_its_name(tmp_path):
    hosts = Hosts(tmp_path, "forever", [1, 1], limits={"silence": 2.0})
    wait_for(tmp_path / "rank1.started")
    hosts.processes[1].send_signal(19)
    code, output = hosts._end(hosts.processes[0])
    hosts.processes[1].kill()
    hosts._end(hosts.processes[1])
    assert code == EXIT_PEER_LOST
    assert "no sign of life for 2 s from host 127.0.0.1 (rank 1)" in output


@pytest.mark.slow
def test_a_host_that_never_comes_is_named_by_all_others(tmp_path):
    limits = {"join": 2.0}
    hosts = Hosts(tmp_path, "train", [1, 1, 1], missing=[1], limits=limits)
    for code, output in hosts.end().values():
        assert code == EXIT_PEER_LOST
        assert "no connection for 2 s from host 127.0.0.1 (rank 1)" in output


def test_hosts_with_other_tables_are_refused_with_the_difference(tmp_path):
    for code, output in Hosts(tmp_path, "differ", [1, 1]).end().values():
        assert code == EXIT_PARAMETER_SERVER
        assert "table w: 3 rows of 128 float32, size 300" in output
        assert "table w: 4 rows of 128 float32, size 500" in output


@pytest.mark.slow
def test_a_host_with_another_solver_is_refused_with_both_values(tmp_path):
    differ = {h: {"job": {"solver": f"hash {h}"}} for h in range(2)}
    hosts = Hosts(tmp_path, "train", [1, 1], differ=differ, limits={"grace": 0.5})
    for code, output in hosts.end().values():
        assert code == EXIT_PARAMETER_SERVER
        assert "does not run the same job" in output
        assert "solver: hash" in output


@pytest.mark.slow
def test_a_host_with_another_key_is_refused(tmp_path):
    differ = {}
    for host in range(2):
        path = tmp_path / f"key{host}"
        write_key(path, make_key())
        differ[host] = {"key": str(path)}
    limits = {"join": 5.0}
    hosts = Hosts(tmp_path, "train", [1, 1], differ=differ, limits=limits)
    ends = hosts.end()
    assert {code for code, _ in ends.values()} <= {
        EXIT_PARAMETER_SERVER,
        EXIT_PEER_LOST,
    }
    assert any("key" in output for _, output in ends.values())


def test_a_taken_port_is_named(tmp_path):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        ports = [other.getsockname()[1], 1]
        code, output = Hosts(tmp_path, "train", [1, 1], [1], ports=ports).end()[0]
    assert code == EXIT_USAGE
    assert f"can't listen at tcp://127.0.0.1:{ports[0]}: Address already" in output


def test_hosts_elsewhere_need_a_key(tmp_path):
    names = ["127.0.0.1", "192.0.2.1"]
    code, output = Hosts(tmp_path, "train", [1, 1], [1], names=names).end()[0]
    assert code == EXIT_USAGE
    assert "geeps-caffe keygen" in output
