"""The hosts of a run, from flags, a machine file or a launcher's variables."""

import socket
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from geeps_caffe.commands.job_files import (
    file_digests,
    has_own_files,
    state_digest,
    weights_digests,
)
from geeps_caffe.commands.line_settings import OWN_DATA
from geeps_caffe.config.flags import CommandLine
from geeps_caffe.config.launchers import launched
from geeps_caffe.config.machine_file import (
    BASE_PORT,
    given_worker,
    own_line,
    read_machine_file,
)
from geeps_caffe.errors import UsageError
from geeps_caffe.paramserver.cluster import Cluster
from geeps_caffe.paramserver.hosts.places import Places
from geeps_caffe.paramserver.transport.addresses import Address
from geeps_caffe.paramserver.transport.keys import ClusterKey, read_key
from geeps_caffe.paramserver.transport.meeting import Meeting, meet
from prototxt import Document

#: Flags that must be the same everywhere, since they change what is computed.
_SHARED_FLAGS = (
    "batch_mode",
    "reduce",
    "batchnorm",
    "test_on",
    "slack",
    "dtype",
    "seed",
    "update",
    "level",
    "stage",
    "batches_per_clock",
    "keep_momentum",
    "dummy_data",
    "record",
)
_MOST_CHANNELS = 100  # more sockets than a process may have are soon asked for
NO_KEY = "none"  # said on purpose, where a key would be demanded


def find_cluster(
    line: CommandLine, environ: Mapping[str, str], workers: int
) -> Cluster | None:
    """The hosts that this process is one of; None if it is alone.

    Args:
        line: the flags.
        environ: variables, of a launcher perhaps.
        workers: of this host.

    Raises:
        UsageError: flags or variables contradict each other.
        InputError: a file is missing or wrong.
        PeerLost: with a launcher, not all of its processes came.
    """
    if line.text("transport") == "mpi":
        return _of_mpi(line, workers)
    if line.text("machinefile"):
        return _of_machine_file(line, environ, workers)
    found = launched(environ, line.integer("port") or None)
    if found is None:
        return None
    key = _key(line)
    master = Address(found.master, found.port)
    seconds = float(line.integer("join_seconds"))
    trusted = line.text("key") == NO_KEY
    meeting = Meeting(found.rank, found.ranks, master, workers, trusted)
    met = meet(meeting, key, seconds)
    names = tuple(address.name for address in met.addresses)
    places = Places(names, met.counts, found.rank)
    return _with_flags(line, Cluster(places, met.addresses, key))


def _of_machine_file(
    line: CommandLine, environ: Mapping[str, str], workers: int
) -> Cluster | None:
    port = line.integer("port") or BASE_PORT
    machines = read_machine_file(line.text("machinefile"), port)
    own = own_line(machines, given_worker(line.integer("worker_id"), environ))
    if len(machines) == 1:
        return None  # `-workers` says how many there are on this machine
    names = tuple(machine.name for machine in machines)
    places = Places(names, (workers,) * len(machines), own)
    addresses = tuple(Address(machine.name, machine.port) for machine in machines)
    return _with_flags(line, Cluster(places, addresses, _key(line)))


def _of_mpi(line: CommandLine, workers: int) -> Cluster | None:
    if line.text("machinefile"):
        raise UsageError(
            "-transport mpi and -machinefile both say which hosts take part: mpirun "
            "has a list of hosts of its own; give one of them"
        )
    from geeps_caffe.paramserver.transport.mpi import world  # noqa: PLC0415

    communicator = world()
    if communicator.Get_size() == 1:
        return None
    everywhere = communicator.allgather(f"{socket.gethostname()} {workers}")
    names = tuple(text.split()[0] for text in everywhere)
    counts = tuple(int(text.split()[1]) for text in everywhere)
    places = Places(names, counts, communicator.Get_rank())
    return _with_flags(line, Cluster(places))


def _key(line: CommandLine) -> ClusterKey | None:
    name = line.text("key")
    return read_key(Path(name)) if name not in ("", NO_KEY) else None


def _with_flags(line: CommandLine, cluster: Cluster) -> Cluster:
    channels = line.integer("channels")
    if not 1 <= channels <= _MOST_CHANNELS:
        raise UsageError(f"-channels is {channels}; expected 1 to {_MOST_CHANNELS}")
    return replace(
        cluster,
        channels=channels,
        wire=line.text("wire"),
        trusted=line.text("key") == NO_KEY,
    )


def with_job(
    cluster: Cluster, line: CommandLine, document: Document, worker: int
) -> Cluster:
    """The cluster with what all hosts must have in common to train one net."""
    own = has_own_files(document, worker)
    job = {flag: str(line[flag]) for flag in _SHARED_FLAGS}
    job["weights"] = weights_digests(document)
    job["snapshot"] = state_digest(line.text("snapshot"), with_data=not own)
    if not own:
        job |= dict(file_digests(document))
    return replace(cluster, job=job)


def worker_environment(
    environ: Mapping[str, str], document: Document, worker: int
) -> dict[str, str]:
    """The variables for the workers of this host."""
    own = {OWN_DATA: "1"} if has_own_files(document, worker) else {}
    return {**environ, **own}
