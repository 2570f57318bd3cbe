"""Which store this process has: its own, or a share in those of a host's agent."""

import os
from collections.abc import Mapping
from pathlib import Path

from geeps_caffe.errors import UsageError
from geeps_caffe.paramserver.client import Client
from geeps_caffe.paramserver.limits import Limits
from geeps_caffe.paramserver.local import LocalStore
from geeps_caffe.paramserver.remote import RemoteStore
from geeps_caffe.paramserver.store import Store
from geeps_caffe.paramserver.transport.shared import SharedLink

RANK = "GEEPS_CAFFE_RANK"
RANKS = "GEEPS_CAFFE_RANKS"
LOCAL_RANK = "GEEPS_CAFFE_LOCAL_RANK"  # among the workers of this host, from 0
LOCAL_RANKS = "GEEPS_CAFFE_LOCAL_RANKS"
AGENT = "GEEPS_CAFFE_AGENT"  # path of the agent's socket
SILENCE = "GEEPS_CAFFE_SILENCE"  # seconds without a sign of life, as the agent has it


def local_place(environ: Mapping[str, str]) -> tuple[int, int]:
    """Which of its host's workers this process is, and how many there are.

    A worker that was started otherwise than by an agent is alone on its host.

    Raises:
        UsageError: a variable is no number.
    """
    if LOCAL_RANK not in environ:
        return 0, 1
    return _number(environ, LOCAL_RANK), _number(environ, LOCAL_RANKS)


def place(environ: Mapping[str, str]) -> tuple[int, int]:
    """Which of the job's workers this process is, and how many there are.

    Raises:
        UsageError: a variable is no number, or they contradict each other.
    """
    if AGENT not in environ:
        return 0, 1
    rank, ranks = _number(environ, RANK), _number(environ, RANKS)
    if not 0 <= rank < ranks:
        raise UsageError(f"{RANK}={rank} is not a rank of {RANKS}={ranks}")
    return rank, ranks


def open_store(
    environ: Mapping[str, str] | None = None,
    limits: Limits | None = None,
    read_my_writes: bool = False,
) -> Store:
    """The store that the environment names; without an agent, one of its own.

    A worker should call this early: the agent gives up on a rank that does not show
    up within `limits.join` seconds, or is silent for as long as the agent allows; that
    is also this worker's limit, unless `limits` are given.

    Raises:
        UsageError: the environment variables contradict each other.
        PeerLost: there is no agent at the path.
    """
    environ = os.environ if environ is None else environ
    if AGENT not in environ:
        return LocalStore()
    rank, ranks = place(environ)
    limits = limits or Limits(silence=_silence(environ))
    one_host = local_place(environ)[1] == ranks
    link = SharedLink(Path(environ[AGENT]), looks=one_host)
    return RemoteStore(link, rank, ranks, limits, read_my_writes)


def open_client(
    environ: Mapping[str, str] | None = None,
    limits: Limits | None = None,
    overlap: bool = True,
    read_my_writes: bool = False,
) -> Client:
    """A client on `open_store`."""
    return Client(open_store(environ, limits, read_my_writes), overlap)


def _silence(environ: Mapping[str, str]) -> float:
    text = environ.get(SILENCE) or str(Limits.silence)
    try:
        return float(text)
    except ValueError:
        raise UsageError(f"{SILENCE} is {text!r}; expected seconds") from None


def _number(environ: Mapping[str, str], name: str) -> int:
    text = environ.get(name, "")
    if not text.isdecimal():
        raise UsageError(f"{name} is {text!r}; where {AGENT} is set it is a number")
    return int(text)
