"""train: train or fine-tune a model, as `caffe train`."""

import os
import sys
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import prototxt
from geeps_caffe.collector import importing
from geeps_caffe.commands.caffe_flags import read_line, require
from geeps_caffe.commands.cluster import (
    find_cluster,
    with_job,
    worker_environment,
)
from geeps_caffe.commands.given_files import check_state, check_stats, check_weights
from geeps_caffe.commands.line_settings import (
    limits_of,
    log_settings,
    memory_of,
    set_train_state,
)
from geeps_caffe.config.file_list import files_in
from geeps_caffe.config.flags import CommandLine
from geeps_caffe.config.launchers import local_number
from geeps_caffe.config.per_worker import find_file
from geeps_caffe.config.units import parse_amount
from geeps_caffe.errors import UsageError
from geeps_caffe.paramserver import launch
from geeps_caffe.paramserver.connect import AGENT, RANK
from geeps_caffe.paramserver.launch import launch_host
from geeps_caffe.paramserver.table import MOST_SLACK
from prototxt import Document
from prototxt.text import load_text


def main(argv: list[str]) -> int:
    """Train; returns 0, or 6 when a signal stopped the run."""
    line = read_line(argv, "train")
    path = require(line, "solver", "Need a solver definition to train.")
    _check(line)
    if AGENT in os.environ:
        return _work(line, path)
    command = [sys.executable, "-m", "geeps_caffe", "train", *argv]
    folder, limits = _log_folder(line), limits_of(line)
    with _in_company(line):
        cluster = find_cluster(line, os.environ, _workers(line))
        if cluster is not None:
            worker = cluster.places.local[0]
            document = read_solver(line, path, worker)
            cluster = with_job(cluster, line, document, worker)
            environ = worker_environment(os.environ, document, worker)
            return launch_host(command, cluster, folder, limits, environ)
    if _workers(line) > 1:
        document = read_solver(line, path, 0)  # its faults are told once
        environ = worker_environment(os.environ, document, 0)
        return launch(command, _workers(line), folder, limits, environ)
    return _work(line, path)


def _in_company(line: CommandLine) -> AbstractContextManager[None]:
    """With MPI an error in one process must end the others."""
    if line.text("transport") != "mpi":
        return nullcontext()
    from geeps_caffe.paramserver.transport.mpi import ending_together  # noqa: PLC0415

    return ending_together()


def _work(line: CommandLine, path: str) -> int:
    """Train in this process, alone or as one of several workers.

    What that takes is imported late: a process that starts workers needs none of it.
    """
    with importing():
        from geeps_caffe.commands.session import open_session  # noqa: PLC0415
        from geeps_caffe.commands.solver_run import run_solver  # noqa: PLC0415

    rank = os.environ.get(RANK, line.integer("worker_id"))
    document = read_solver(line, path, max(int(rank), 0))
    with open_session(line) as session:
        return run_solver(session, line, document)


def _check(line: CommandLine) -> None:
    """What can be known to be wrong from the flags alone."""
    if line.text("snapshot") and line.text("weights"):
        raise UsageError(
            "Give a snapshot to resume training or weights to finetune but not both."
        )
    if not 0 <= line.integer("port") < 65536:
        raise UsageError(f"-port is {line.integer('port')}; expected 1 to 65535")
    if not -1 <= line.integer("slack") <= MOST_SLACK:
        raise UsageError(
            f"-slack is {line.integer('slack')}; expected 0 to {MOST_SLACK} clocks, or "
            "-1 for no bound"
        )
    if memory_of(line):
        parse_amount(memory_of(line))
    check_stats(line.text("stats"))


def _workers(line: CommandLine) -> int:
    """As many as asked for; or one for each GPU, shared out by who runs here too."""
    if "workers" in line.given:
        return line.integer("workers")
    from geeps_caffe.commands.gpus import wanted_gpus  # noqa: PLC0415

    return max(len(wanted_gpus(line)) // local_number(os.environ)[1], 1)


def _log_folder(line: CommandLine) -> Path:
    """Where ranks above 0 write `rank<r>.log`."""
    return Path(log_settings(line, os.environ).folder or ".")


def read_solver(line: CommandLine, path: str, worker: int | None = None) -> Document:
    """The solver with what the flags add to it, as Caffe adds it.

    Args:
        line: the flags.
        path: the solver's file.
        worker: this worker's number, where a file may be meant for one.

    Raises:
        PrototxtError: it can't be read.
        InputError: -snapshot or -weights is a file of another kind.
    """
    found = find_file(path, worker)
    if found.number is None:
        document = prototxt.read_solver(str(found.path))
    else:  # a template stands for the workers' files
        text = found.expand(load_text(found.path))
        document = prototxt.parse_solver(text, str(found.path))
    solver = document.message
    if line.integer("batches_per_clock") != 1:
        solver.iter_size *= line.integer("batches_per_clock")
    set_train_state(solver, line)
    if line.text("snapshot"):
        check_state(line.text("snapshot"))
    if line.text("weights"):
        solver.weights.append(line.text("weights"))
    for given in solver.weights:
        for name in files_in(given):
            check_weights(name)
    return document
