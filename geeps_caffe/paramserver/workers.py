"""The worker processes of one host: started, told signals, waited for, ended."""

import logging
import os
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from geeps_caffe.config.launchers import local_number
from geeps_caffe.errors import InputError
from geeps_caffe.paramserver.connect import (
    AGENT,
    LOCAL_RANK,
    LOCAL_RANKS,
    RANK,
    RANKS,
    SILENCE,
)
from geeps_caffe.paramserver.limits import Limits

_LOG = logging.getLogger(__name__)
TAIL_LINES = 10  # of the log of the worker that failed
EXIT_SECONDS = 2.0  # from the end of a connection to the end of its process


class Workers:
    """Some ranks of one command, those of this host.

    Rank 0 has this process's standard output and error; the others write to
    `rank<r>.log` in `log_folder`. Leaving the context ends all that still run.
    """

    def __init__(
        self,
        command: Sequence[str],
        ranks: range,
        total: int,
        log_folder: Path,
        limits: Limits,
    ) -> None:
        self._command = list(command)
        self._ranks, self._total = ranks, total
        self._folder, self._limits = log_folder, limits
        self._processes: list[subprocess.Popen[bytes]] = []
        self._logs: list[IO[bytes]] = []
        self._passed_on: set[int] = set()  # signals of this process
        self._failed: list[int] = []  # ranks, in the order in which it was noticed

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.finish()
        for log in self._logs:
            log.close()

    def start(self, agent: Path, environ: Mapping[str, str]) -> None:
        """Start all ranks, each in its own session, so that a signal comes once.

        Raises:
            InputError: the log of a rank can't be written; then none is started.
        """
        outputs = {rank: self._open_log(rank) for rank in self._ranks if rank}
        share = str(max(1, cores() // len(self._ranks)))
        shares = {"OMP_NUM_THREADS": share, "OPENBLAS_NUM_THREADS": share}
        process, processes = local_number(environ)  # agents that share this host
        first, here = process * len(self._ranks), processes * len(self._ranks)
        for place, rank in enumerate(self._ranks, first):
            own = {RANK: str(rank), RANKS: str(self._total), AGENT: str(agent)}
            own |= {LOCAL_RANK: str(place), LOCAL_RANKS: str(here)}
            own |= {SILENCE: str(self._limits.silence)}
            output = outputs.get(rank)
            self._processes.append(
                subprocess.Popen(
                    self._command,
                    env={**shares, **environ, **own},
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                    start_new_session=True,
                )
            )

    def _open_log(self, rank: int) -> IO[bytes]:
        path = self.log_path(rank)
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._logs.append(path.open("wb"))
        except OSError as error:
            raise InputError(
                f"{path}, the log of rank {rank}, can't be written: {error.strerror}; "
                "name another folder with -log_dir"
            ) from error
        return self._logs[-1]

    def log_path(self, rank: int) -> Path:
        """Where a rank above 0 writes."""
        return self._folder / f"rank{rank}.log"

    def pass_on(self, number: int) -> None:
        """Send all a signal that this process was sent."""
        self._passed_on.add(number)
        self.send_signal(number)

    def was_passed_on(self, number: int) -> bool:
        """Whether a signal that has ended a worker came from outside."""
        return number in self._passed_on

    def send_signal(self, number: int) -> None:
        """To all that run."""
        for process in self._processes:
            if process.poll() is None:
                process.send_signal(number)

    def ended(self) -> Iterator[tuple[int, bool]]:
        """The ranks that have ended, each with whether its exit code is 0."""
        for rank, process in zip(self._ranks, self._processes, strict=False):
            code = process.poll()
            if code is not None:
                self._note(rank, code)
                yield rank, code == 0

    def explain(self, rank: int) -> str:
        """How a rank, whose connection is closed, has ended."""
        try:
            code = self._process(rank).wait(EXIT_SECONDS)
        except subprocess.TimeoutExpired:
            return "it closed its connection"
        self._note(rank, code)
        if code < 0:
            return f"it was killed by {_name(-code)}"
        where = "" if rank == 0 else f", see {self.log_path(rank)}"
        return f"it ended with exit code {code}{where}"

    def _process(self, rank: int) -> subprocess.Popen[bytes]:
        return self._processes[rank - self._ranks[0]]

    def _note(self, rank: int, code: int) -> None:
        if code != 0 and rank not in self._failed:
            self._failed.append(rank)

    def finish(self) -> None:
        """End those that still run, the hard way at last."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            self.send_signal(number)
            for process in self._processes:
                _wait(process, EXIT_SECONDS)
        list(self.ended())

    @property
    def first_failure(self) -> tuple[int, int] | None:
        """Rank and exit code (negative: a signal) of the first that failed."""
        if not self._failed:
            return None
        return self._failed[0], int(self._process(self._failed[0]).returncode)

    def show_tail(self, rank: int) -> None:
        """The last lines of a rank's log, to this process's own."""
        if rank == 0:
            return
        lines = self.log_path(rank).read_text(errors="replace").splitlines()
        for line in lines[-TAIL_LINES:]:
            _LOG.error("rank %d: %s", rank, line)


def _name(number: int) -> str:
    """A signal's; most of those of real time have none."""
    names = {int(known): known.name for known in signal.Signals}
    return names.get(number, f"signal {number}")


def cores() -> int:
    """Those that this process may use, where the system tells."""
    affinity = getattr(os, "sched_getaffinity", None)  # not everywhere
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def _wait(process: subprocess.Popen[bytes], seconds: float) -> None:
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        return
