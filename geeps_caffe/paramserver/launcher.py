"""The workers of this host, and this process as their agent until they end."""

import os
import signal
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from geeps_caffe.device.array import Array
from geeps_caffe.errors import (
    EXIT_INTERRUPTED,
    EXIT_PARAMETER_SERVER,
    EXIT_PEER_LOST,
)
from geeps_caffe.paramserver.agent import Agent
from geeps_caffe.paramserver.cluster import Cluster, make_network
from geeps_caffe.paramserver.cluster_agent import ClusterAgent
from geeps_caffe.paramserver.hands import Hands
from geeps_caffe.paramserver.host import Host
from geeps_caffe.paramserver.hosts.cluster_host import ClusterHost
from geeps_caffe.paramserver.hosts.wire_types import find_wire_type
from geeps_caffe.paramserver.limits import Limits
from geeps_caffe.paramserver.transport.allocator import keep_freed_memory
from geeps_caffe.paramserver.workers import Workers, cores

#: Threads of an agent for large tables: two move memory up to twice as fast as one, on
#: cores whose workers wait for them.
MOST_HANDS = 2
FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def run_workers(
    command: Sequence[str],
    workers: int,
    log_folder: Path,
    limits: Limits,
    environ: Mapping[str, str] | None,
) -> int:
    """See `launch.launch`."""
    crew = Workers(command, range(workers), workers, log_folder, limits)
    hands = Hands(min(cores(), MOST_HANDS))

    def make_host(allocate: Callable[[int], Array]) -> Host:
        return Host(workers, allocate, time.monotonic(), limits, hands)

    def make_agent(path: Path) -> Agent:
        return Agent(path, make_host, limits, crew.explain, crew.ended)

    with closing(hands):
        return _run(crew, make_agent, environ)


def run_host(
    command: Sequence[str],
    cluster: Cluster,
    log_folder: Path,
    limits: Limits,
    environ: Mapping[str, str] | None,
) -> int:
    """See `launch.launch_host`."""
    places = cluster.places
    crew = Workers(command, places.local, places.ranks, log_folder, limits)
    keep_freed_memory()
    network = make_network(cluster)

    def make_host(allocate: Callable[[int], Array]) -> ClusterHost:
        wire = find_wire_type(cluster.wire)
        now = time.monotonic()
        passport, piece_bytes = cluster.passport, cluster.piece_bytes
        return ClusterHost(places, passport, allocate, now, limits, wire, piece_bytes)

    def make_agent(path: Path) -> Agent:
        return ClusterAgent(path, make_host, network, limits, crew.explain, crew.ended)

    return _run(crew, make_agent, environ)


def _run(
    crew: Workers,
    make_agent: Callable[[Path], Agent],
    environ: Mapping[str, str] | None,
) -> int:
    with (
        tempfile.TemporaryDirectory(prefix="geeps-") as folder,
        crew,
        closing(make_agent(Path(folder) / "agent")) as agent,
        _forwarded(crew),
    ):
        crew.start(agent.path, os.environ if environ is None else environ)
        agent.run()
        agent.see_off()
        crew.finish()
        return _exit_code(agent, crew)


@contextmanager
def _forwarded(crew: Workers) -> Iterator[None]:
    """Signals go to the workers; this process ends when they do."""
    before = {
        number: signal.signal(number, lambda n, _: crew.pass_on(n))
        for number in FORWARDED
    }
    if signal.getsignal(signal.SIGTSTP) is not signal.SIG_IGN:
        pause = signal.signal(signal.SIGTSTP, lambda _, __: stand_still(crew))
        before[signal.SIGTSTP] = pause
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def stand_still(crew: Workers) -> None:
    """Ctrl-Z: stop the workers, which have sessions of their own, and this process.

    When this process goes on, so do they.
    """
    crew.send_signal(signal.SIGSTOP)
    os.kill(os.getpid(), signal.SIGSTOP)
    crew.send_signal(signal.SIGCONT)


def _exit_code(agent: Agent, crew: Workers) -> int:
    if agent.host.refused:
        return EXIT_PARAMETER_SERVER
    if crew.first_failure is not None:
        rank, code = crew.first_failure
        if crew.was_passed_on(-code):  # before the worker could listen to it
            return EXIT_INTERRUPTED
        if code != EXIT_INTERRUPTED:  # a stop that was asked for is no failure
            crew.show_tail(rank)
        return code if code > 0 else EXIT_PEER_LOST
    return 0 if agent.host.failure is None else EXIT_PEER_LOST
