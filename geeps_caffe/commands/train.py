"""train: train or fine-tune a model, as `caffe train`."""

import os
import sys
from pathlib import Path

import prototxt
from geeps_caffe.commands.caffe_flags import (
    log_settings,
    memory_of,
    read_line,
    require,
    stages_of,
)
from geeps_caffe.commands.gpus import wanted_gpus
from geeps_caffe.commands.planning import check_state, check_weights
from geeps_caffe.commands.session import open_session
from geeps_caffe.commands.solver_run import run_solver
from geeps_caffe.config.flags import CommandLine
from geeps_caffe.config.units import parse_amount
from geeps_caffe.errors import UsageError
from geeps_caffe.paramserver import launch
from geeps_caffe.paramserver.connect import AGENT
from prototxt import Document


def main(argv: list[str]) -> int:
    """Train; returns 0, or 6 when a signal stopped the run."""
    line = read_line(argv, "train")
    path = require(line, "solver", "Need a solver definition to train.")
    _check(line)
    document = read_solver(line, path)
    workers = _workers(line)
    if workers > 1 and AGENT not in os.environ:
        command = [sys.executable, "-m", "geeps_caffe", "train", *argv]
        return launch(command, workers, _log_folder(line))
    with open_session(line) as session:
        return run_solver(session, line, document)


def _check(line: CommandLine) -> None:
    """What can be known to be wrong from the flags alone."""
    if line.text("snapshot") and line.text("weights"):
        raise UsageError(
            "Give a snapshot to resume training or weights to finetune but not both."
        )
    if line.integer("workers") < 1:
        raise UsageError(f"-workers is {line.integer('workers')}; give 1 or more")
    if memory_of(line):
        parse_amount(memory_of(line))


def _workers(line: CommandLine) -> int:
    """As many as asked for, or one for each GPU."""
    if "workers" in line.given:
        return line.integer("workers")
    return max(len(wanted_gpus(line)), 1)


def _log_folder(line: CommandLine) -> Path:
    """Where ranks above 0 write `rank<r>.log`."""
    return Path(log_settings(line, os.environ).folder or ".")


def read_solver(line: CommandLine, path: str) -> Document:
    """The solver with what the flags add to it, as Caffe adds it.

    Raises:
        PrototxtError: it can't be read.
        InputError: -snapshot or -weights is a file of another kind.
    """
    document = prototxt.read_solver(path)
    solver = document.message
    solver.train_state.level = line.integer("level")
    solver.train_state.stage.extend(stages_of(line))
    if line.text("snapshot"):
        check_state(line.text("snapshot"))
    if line.text("weights"):
        solver.weights.append(line.text("weights"))
    for given in solver.weights:
        for name in given.split(","):
            check_weights(name)
    return document
