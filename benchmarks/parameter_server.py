"""The parameter server against all-reduces: a model of 244 MB, all of it every step.

    python -m benchmarks.parameter_server --rounds 3 --write

Peers take turns in one run: our shared memory (one host) and ZeroMQ over TCP (each
worker a host of its own), PyTorch's Gloo, MPICH (mpi4py, if it is there), and bare
sockets that move the same bytes as the parameter server has to, 2 (N - 1) / N of the
model each way. Then the round trip of a table of 1 KB. Times are medians and minima of
all steps of all rounds.
"""

import argparse
import datetime
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.parameter_server_peers import SIZES
from benchmarks.results import append
from geeps_caffe.paramserver import launch
from geeps_caffe.paramserver.cluster import Cluster
from geeps_caffe.paramserver.hosts.places import Places
from geeps_caffe.paramserver.launch import launch_host
from geeps_caffe.paramserver.transport.addresses import Address

PEER = [sys.executable, "-m", "benchmarks.parameter_server_peers"]
WARM = 2  # steps that do not count
_PORT = 21_000


class Ports:
    """Numbers that were not used before in this run."""

    def __init__(self):
        self.next = _PORT + os.getpid() % 500 * 40

    def take(self):
        self.next += 8
        return self.next


def shared(ranks, steps, small, file, ports):
    """Workers of one host, with its agent."""
    words = ["geeps", "$GEEPS_CAFFE_RANK", str(ranks), "0", str(steps), str(small)]
    command = " ".join([*PEER, *words, str(file)])
    assert launch(["sh", "-c", command], ranks, file.parent) == 0


def zeromq(ranks, steps, small, file, ports):
    """A process a host, each with its agent and one worker."""
    port = ports.take()
    processes = [
        subprocess.Popen(
            [sys.executable, "-m", "benchmarks.parameter_server", "--host"]
            + [str(n) for n in (host, ranks, steps, small, port)]
            + [str(file)]
        )
        for host in range(ranks)
    ]
    assert [p.wait() for p in processes] == [0] * ranks


def host(number, hosts, steps, small, port, file):
    """One host of `zeromq`."""
    names = ("127.0.0.1",) * hosts
    addresses = tuple(Address(n, port + i) for i, n in enumerate(names))
    cluster = Cluster(Places(names, (1,) * hosts, number), addresses)
    command = [*PEER, "geeps", str(number), str(hosts), "0", str(steps), str(small)]
    return launch_host([*command, file], cluster, Path(file).parent)


def group(peer):
    """A peer whose processes find each other by a port."""

    def run(ranks, steps, small, file, ports):
        port = ports.take()
        environ = {**os.environ, "OMP_NUM_THREADS": "1"}
        words = [str(port), str(steps), str(small), str(file)]
        processes = [
            subprocess.Popen([*PEER, peer, str(r), str(ranks), *words], env=environ)
            for r in range(ranks)
        ]
        assert [p.wait() for p in processes] == [0] * ranks

    return run


def mpich(ranks, steps, small, file, ports):
    """Processes that mpiexec starts."""
    words = ["0", str(ranks), "0", str(steps), str(small), str(file)]
    command = [shutil.which("mpiexec"), "-n", str(ranks), *PEER, "mpich", *words]
    subprocess.run(command, check=True)


PEERS = {
    "shared memory": shared,
    "ZeroMQ": zeromq,
    "bare TCP": group("tcp"),
    "Gloo": group("gloo"),
    "MPICH": mpich,
}


def measure(names, ranks, steps, rounds, small=0):
    """Seconds of all steps, by peer; peers take turns."""
    times = {name: [] for name in names}
    ports = Ports()
    with tempfile.TemporaryDirectory() as folder:
        for number in range(rounds):
            for name in names:
                file = Path(folder) / f"{name.replace(' ', '')}{number}.json"
                PEERS[name](ranks, steps + WARM, small, file, ports)
                times[name] += json.loads(file.read_text())[WARM:]
    return times


def row(name, seconds, unit):
    """A peer's cells: median and minimum."""
    scale = {"ms": 1e3, "us": 1e6}[unit]
    times = [scale * t for t in seconds]
    return f"{name} | {statistics.median(times):.0f} / {min(times):.0f}"


def large(names, rounds, steps):
    """The table of the model of 244 MB, as lines."""
    lines = [
        "| peer | 2 processes, ms median / min | 4 processes |",
        "|---|---|---|",
    ]
    by_ranks = {n: measure(names, n, steps, rounds) for n in (2, 4)}
    for name in names:
        two = row(name, by_ranks[2][name], "ms")
        four = row("", by_ranks[4][name], "ms")
        lines.append(f"| {two}{four} |")
    for ranks, times in by_ranks.items():
        best = {name: min(seconds) for name, seconds in times.items()}
        usual = {name: statistics.median(seconds) for name, seconds in times.items()}
        for what, found in (("medians", usual), ("minima", best)):
            text = f"{ranks} processes, {what}: ZeroMQ / bare TCP "
            text += f"{found['ZeroMQ'] / found['bare TCP']:.2f}"
            if "Gloo" in found:
                ratio = found["Gloo"] / found["shared memory"]
                text += f", Gloo / shared memory {ratio:.1f}"
            lines.append(f"- {text}")
    return lines


def small(rounds):
    """The table of a round trip, as lines."""
    lines = ["| a table of 1 KB, us median / min | |", "|---|---|"]
    for name, ranks in (("shared memory", 1), ("shared memory", 2), ("ZeroMQ", 2)):
        times = measure([name], ranks, 2000, rounds, small=1)[name]
        lines.append("| " + row(f"{name}, {ranks} workers", times, "us") + " |")
    return lines


def main():
    """Measure, print, and perhaps write."""
    if sys.argv[1:2] == ["--host"]:
        *numbers, file = sys.argv[2:]
        sys.exit(host(*(int(n) for n in numbers), file))
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--peers", nargs="*", default=list(PEERS))
    parser.add_argument("--write", action="store_true")
    flags = parser.parse_args()
    names = [n for n in flags.peers if n != "MPICH" or shutil.which("mpiexec")]
    lines = [*large(names, flags.rounds, flags.steps), "", *small(flags.rounds)]
    print("\n".join(lines))
    if flags.write:
        size = 4 * sum(SIZES) / 1e6
        head = f"## The parameter server and all-reduces, {size:.0f} MB"
        day, cores = datetime.date.today(), os.cpu_count()
        command = "python -m benchmarks.parameter_server " + " ".join(sys.argv[1:])
        append(["", head, "", f"{day}, {cores} cores: `{command}`.", "", *lines])


if __name__ == "__main__":
    main()
