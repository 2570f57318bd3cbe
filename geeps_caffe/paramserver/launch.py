"""Starts N workers of one command on this host, and is their agent until they end."""

import os
import signal
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from geeps_caffe.errors import EXIT_PARAMETER_SERVER, EXIT_PEER_LOST
from geeps_caffe.paramserver.agent import Agent
from geeps_caffe.paramserver.limits import Limits
from geeps_caffe.paramserver.workers import Workers

FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def launch(
    command: Sequence[str],
    workers: int,
    log_folder: Path,
    limits: Limits | None = None,
    environ: Mapping[str, str] | None = None,
) -> int:
    """Run `command` as ranks 0 to workers - 1 and serve them; returns the exit code.

    Rank 0 has this process's standard output and error; the others write to
    `rank<r>.log` in `log_folder`. SIGINT, SIGTERM and SIGHUP are passed on to all,
    whose business it is to end in the same clock (`Client.request`).

    Returns:
        0 if all workers ended so. EXIT_PEER_LOST if one was killed, fell silent or
        got stuck; else the exit code of the first worker that failed.
    """
    limits = limits or Limits()
    with (
        tempfile.TemporaryDirectory(prefix="geeps-") as folder,
        Workers(command, workers, log_folder) as crew,
        _served(Path(folder) / "agent", crew, workers, limits) as agent,
        _forwarded(crew),
    ):
        crew.start(agent.path, os.environ if environ is None else environ)
        agent.run()
        agent.see_off()
        crew.finish()
        return _exit_code(agent, crew)


@contextmanager
def _served(path: Path, crew: Workers, workers: int, limits: Limits) -> Iterator[Agent]:
    agent = Agent(path, workers, limits, crew.explain, crew.ended)
    try:
        yield agent
    finally:
        agent.close()


@contextmanager
def _forwarded(crew: Workers) -> Iterator[None]:
    """Signals go to the workers; this process ends when they do."""
    before = {
        number: signal.signal(number, lambda n, _: crew.send_signal(n))
        for number in FORWARDED
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _exit_code(agent: Agent, crew: Workers) -> int:
    if agent.host.refused:
        return EXIT_PARAMETER_SERVER
    if crew.first_failure is not None:
        rank, code = crew.first_failure
        crew.show_tail(rank)
        return code if code > 0 else EXIT_PEER_LOST
    return 0 if agent.host.failure is None else EXIT_PEER_LOST
