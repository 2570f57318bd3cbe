"""train: train or fine-tune a model, as `caffe train`."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

import prototxt
from geeps_caffe.commands.caffe_flags import (
    read_line,
    require,
    run_settings,
    stages_of,
)
from geeps_caffe.commands.gpus import choose_device
from geeps_caffe.commands.planning import check_state, check_weights, with_budget
from geeps_caffe.commands.progress import Progress
from geeps_caffe.commands.session import Session, open_session
from geeps_caffe.commands.signals import Requests, listen
from geeps_caffe.commands.solver_lines import scaffolding_lines
from geeps_caffe.config.flags import CommandLine
from geeps_caffe.config.job import RunSettings
from geeps_caffe.config.units import show_bytes
from geeps_caffe.errors import EXIT_INTERRUPTED, UsageError
from geeps_caffe.execution.reports import Report
from geeps_caffe.execution.trainer import Trainer
from geeps_caffe.glog import note
from geeps_caffe.log_lines import lines_of, solver_lines
from geeps_caffe.paramserver import Client, launch, open_client
from geeps_caffe.paramserver.connect import AGENT, RANK, RANKS
from prototxt import Document

_GPU = 1  # SolverMode in caffe.proto


def main(argv: list[str]) -> int:
    """Train; returns 0, or 6 when a signal stopped the run."""
    line = read_line(argv, "train")
    path = require(line, "solver", "Need a solver definition to train.")
    if line.text("snapshot") and line.text("weights"):
        raise UsageError(
            "Give a snapshot to resume training or weights to finetune but not both."
        )
    document = read_solver(line, path)
    workers = line.integer("workers")
    if workers < 1:
        raise UsageError(f"train: -workers is {workers}; give 1 or more")
    if workers > 1 and AGENT not in os.environ:
        return launch(
            [sys.executable, "-m", "geeps_caffe", "train", *argv],
            workers,
            Path(line.text("log_dir") or os.environ.get("GLOG_log_dir") or "."),
        )
    with open_session(line) as session:
        effects = line.text("sigint_effect"), line.text("sighup_effect")
        with listen(*effects) as requests:
            return _train(session, line, document, requests)


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


def _train(
    session: Session, line: CommandLine, document: Document, requests: Requests
) -> int:
    solver, path = document.message, document.path
    for warning in document.warnings:
        session.warn(warning)
    wants_gpu = not line.text("gpu") and solver.solver_mode == _GPU
    choose_device(session, line, "caffe.cpp:197", wants_gpu)
    session.tell(solver_lines(solver))
    settings, client = _place(line, os.environ)
    settings = with_budget(solver, path, settings, line.text("memory"))
    progress = Progress(session.log, solver.max_iter)
    trainer = _build(session, document, settings, client, requests, progress)
    try:
        _announce(session, trainer, settings)
        if line.text("snapshot"):
            trainer.restore(line.text("snapshot"))
        session.say("caffe.cpp:239", "Starting Optimization")
        trainer.solve()
    finally:
        progress.finish()
        trainer.close()
    session.say("caffe.cpp:250", "Optimization Done.")
    return EXIT_INTERRUPTED if trainer.stopped else 0


def _place(
    line: CommandLine, environ: Mapping[str, str]
) -> tuple[RunSettings, Client | None]:
    """The settings of this rank and its place at the parameter server."""
    if AGENT not in environ:
        return run_settings(line), None
    client = open_client(environ)
    rank, ranks = int(environ[RANK]), int(environ[RANKS])
    return run_settings(line, rank, ranks), client


def _build(
    session: Session,
    document: Document,
    settings: RunSettings,
    client: Client | None,
    requests: Requests,
    progress: Progress,
) -> Trainer:
    """The trainer, and the lines of its making in Caffe's order."""
    made: list[Report] = []
    built: list[Trainer] = []

    def report(value: Report) -> None:
        if built:
            session.tell(lines_of(value, session.most_outputs))
        else:
            made.append(value)

    def requested() -> int:
        progress.update(built[0].iteration)
        return requests.take()

    trainer = Trainer(
        document.message, document.path, settings, report, requested, client
    )
    built.append(trainer)
    session.tell(scaffolding_lines(document.message, document.path, trainer, made))
    return trainer


def _announce(session: Session, trainer: Trainer, settings: RunSettings) -> None:
    """What differs from Caffe's plain run, in a line each."""
    if settings.ranks > 1:
        session.log.write(note(_meaning(settings)))
    if settings.memory is not None:
        plan = trainer.net.executor.plan
        text = (
            f"A step runs in {show_bytes(plan.arena_bytes)} instead of "
            f"{show_bytes(plan.total_bytes)} and moves {show_bytes(plan.moved_bytes)}"
        )
        session.log.write(note(text))


def _meaning(settings: RunSettings) -> str:
    share = (
        f"each takes 1/{settings.ranks} of batch_size"
        if settings.batch_mode == "global"
        else f"each takes batch_size records: {settings.ranks} times that per update"
    )
    how = "averaged" if settings.reduce == "mean" else "summed"
    return f"{settings.ranks} workers, {share}; gradients are {how}"

