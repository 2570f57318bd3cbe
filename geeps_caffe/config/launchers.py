"""Ranks that another program has started: what its variables say."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from geeps_caffe.errors import UsageError

#: Rank, size and local size, by launcher; the first that is set counts.
_VARIABLES = (
    ("RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE"),  # torchrun, and by hand
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE"),
    ("PMI_RANK", "PMI_SIZE", "MPI_LOCALNRANKS"),  # MPICH, Intel MPI
    ("SLURM_PROCID", "SLURM_NTASKS", "SLURM_STEP_TASKS_PER_NODE"),  # srun
)
_BY_HAND = _VARIABLES[0][:2]
#: This process's number among those of its host, and how many those are.
_LOCAL = (
    ("LOCAL_RANK", "LOCAL_WORLD_SIZE"),
    ("OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"),
    ("MPI_LOCALRANKID", "MPI_LOCALNRANKS"),
    ("SLURM_LOCALID", "SLURM_STEP_TASKS_PER_NODE"),
)
_JOB_NAMES = ("PMIX_NAMESPACE", "SLURM_JOB_ID", "TORCHELASTIC_RUN_ID", "PMI_JOBID")
_OWN_STORE = "TORCHELASTIC_USE_AGENT_STORE"  # True: torchrun listens at MASTER_PORT
_FIRST_PORT, _PORTS = 20_000, 10_000


@dataclass(frozen=True)
class Launched:
    """This process is `rank` of `ranks`; the first is met at `master`:`port`."""

    rank: int
    ranks: int
    master: str
    port: int


def launched(environ: Mapping[str, str], port: int | None = None) -> Launched | None:
    """What a launcher says of this process; None if it is alone, or nobody does.

    Args:
        environ: the variables.
        port: of the first rank's agent, if it was given.

    Raises:
        UsageError: variables contradict each other, or nobody says where rank 0 is.
    """
    for names in _VARIABLES:
        if names[0] in environ and names[1] in environ:
            return _launched(names, environ, port)
        if names[:2] == _BY_HAND:
            _check_half(environ)
    return None


def _check_half(environ: Mapping[str, str]) -> None:
    """Refuse half of the pair that is set by hand: all would train alone."""
    rank, size = _BY_HAND
    alone = environ.get(size, "1") == "1"
    for name, other in ((rank, size), (size, rank)):
        if name in environ and not (name == size and alone):
            raise UsageError(
                f"{name} is {environ[name]!r}, but {other} is not set: set both, or "
                f"unset {name} to train alone"
            )


def local_number(environ: Mapping[str, str]) -> tuple[int, int]:
    """Which of its host's processes a launcher says that this is, and of how many.

    >>> local_number({"SLURM_LOCALID": "1", "SLURM_STEP_TASKS_PER_NODE": "2(x3)"})
    (1, 2)
    >>> local_number({})
    (0, 1)
    """
    for rank, size in _LOCAL:
        found = re.match(r"\d+", environ.get(rank, ""))
        count = re.match(r"\d+", environ.get(size, ""))
        if found and count and int(found[0]) < int(count[0]):
            return int(found[0]), int(count[0])
    return 0, 1


def _launched(
    names: tuple[str, str, str], environ: Mapping[str, str], port: int | None
) -> Launched | None:
    rank, ranks = (_number(environ, name) for name in names[:2])
    if not 0 <= rank < ranks:
        raise UsageError(f"{names[0]}={rank} is not a rank of {names[1]}={ranks}")
    if ranks == 1:
        return None
    local = environ.get(names[2], "").partition("(")[0]
    master = environ.get("MASTER_ADDR") or _first_node(environ)
    if not master and local == str(ranks):
        master = "127.0.0.1"
    if not master:
        raise UsageError(
            f"{names[0]} and {names[1]} say that this is one of {ranks} processes, but "
            "not where the first one is; set MASTER_ADDR (and MASTER_PORT), or give "
            "-machinefile"
        )
    master = master.removeprefix("[").removesuffix("]")  # of a number of IPv6
    return Launched(rank, ranks, master, port or _given_port(environ))


def _number(environ: Mapping[str, str], name: str) -> int:
    if not re.fullmatch("[0-9]+", environ[name]):
        raise UsageError(f"{name} is {environ[name]!r}; expected a number")
    return int(environ[name])


def _given_port(environ: Mapping[str, str]) -> int:
    """Where the first rank listens."""
    if not environ.get("MASTER_PORT") or environ.get(_OWN_STORE) == "True":
        return _port(environ)
    port = _number(environ, "MASTER_PORT")
    if not 0 < port < 65536:
        raise UsageError(f"MASTER_PORT is {port}; expected 1 to 65535")
    return port


def _first_node(environ: Mapping[str, str]) -> str:
    """Slurm's first node: "a[03-05,9],b1" is a03."""
    nodes = environ.get("SLURM_STEP_NODELIST") or environ.get("SLURM_JOB_NODELIST", "")
    match = re.match(r"([^,\[]+)(?:\[(\d+)[^\]]*\])?([^,]*)", nodes)
    if not match:
        return ""
    return match[1] + (match[2] or "") + match[3]


def _port(environ: Mapping[str, str]) -> int:
    """The same for all processes of a job, another one for most other jobs."""
    job = next((environ[name] for name in _JOB_NAMES if environ.get(name)), "")
    job += environ.get("MASTER_PORT", "")
    return _FIRST_PORT + sum(job.encode()) * 31 % _PORTS
