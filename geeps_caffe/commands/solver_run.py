"""A solver's run in this process: its trainer, its log, its signals."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from geeps_caffe.commands.gpus import choose_device, gpu_of
from geeps_caffe.commands.line_settings import limits_of, memory_of, run_settings
from geeps_caffe.commands.planning import solver_nets, with_budget
from geeps_caffe.commands.progress import Progress
from geeps_caffe.commands.session import Session
from geeps_caffe.commands.signals import Requests, listen
from geeps_caffe.commands.solver_lines import scaffolding_lines
from geeps_caffe.commands.stats import stats_line, write_stats
from geeps_caffe.config.flags import CommandLine
from geeps_caffe.config.job import RunSettings
from geeps_caffe.config.launchers import local_number
from geeps_caffe.config.ps_config import read_ps_config
from geeps_caffe.config.units import show_bytes
from geeps_caffe.errors import EXIT_INTERRUPTED, PeerLost
from geeps_caffe.execution.reports import Report
from geeps_caffe.execution.rescue import rescue
from geeps_caffe.execution.trainer import Trainer
from geeps_caffe.execution.training import Training
from geeps_caffe.glog import note
from geeps_caffe.log_lines import lines_of, solver_lines, upgrade_lines
from geeps_caffe.paramserver import Client, open_client
from geeps_caffe.paramserver.connect import AGENT, RANK, RANKS, local_place
from prototxt import Document


def run_solver(
    session: Session,
    line: CommandLine,
    document: Document,
    watch: Callable[[Report], None] = lambda report: None,
) -> int:
    """Train; `watch` sees every report of the trainer. Returns the exit code."""
    effects = line.text("sigint_effect"), line.text("sighup_effect")
    with listen(*effects) as requests:
        return _Run(session, line, document, requests, watch).train()


@dataclass(frozen=True)
class _Run:
    session: Session
    line: CommandLine
    document: Document
    requests: Requests
    watch: Callable[[Report], None]

    def train(self) -> int:
        session, snapshot = self.session, self.line.text("snapshot")
        trainer, progress = self._begin()
        failed = True
        try:
            _check_cache(trainer)
            _announce(session, trainer)
            if snapshot:
                trainer.restore(snapshot)
            session.say("caffe.cpp:239", "Starting Optimization")
            trainer.solve()
            failed = False
        except PeerLost as error:
            self._save_what_there_is(trainer, error)
            raise
        finally:
            progress.finish()
            write_stats(trainer.training, self.line.text("stats"))
            trainer.close(failed=failed)
        session.say("caffe.cpp:250", "Optimization Done.")
        return EXIT_INTERRUPTED if trainer.stopped else 0

    def _save_what_there_is(self, trainer: Trainer, error: PeerLost) -> None:
        session = self.session
        session.warn(str(error))
        path = self.document.path
        name = rescue(trainer.training, path, trainer.iteration, error)
        if name is not None:
            session.warn(f"The weights as they were are in {name}")

    def _begin(self) -> tuple[Trainer, Progress]:
        session, line = self.session, self.line
        solver, path = self.document.message, self.document.path
        session.tell(upgrade_lines(self.document.notes))
        for warning in self.document.warnings:
            session.warn(warning)
        if line.text("ps_config"):
            for text in read_ps_config(line.text("ps_config")).notes:
                session.warn(text)
        device = None if line.text("gpu") else gpu_of(solver)
        gpus = choose_device(session, line, "caffe.cpp:197", device)
        session.tell(solver_lines(solver))
        settings, client = _place(line, os.environ, gpus)
        nets = (net for _, net in solver_nets(solver, path, settings))
        settings = with_budget(nets, settings, memory_of(line))
        progress = Progress(session.log, solver.max_iter)
        return self._build(settings, client, progress), progress

    def _build(
        self, settings: RunSettings, client: Client | None, progress: Progress
    ) -> Trainer:
        """The trainer; the lines of its making come in Caffe's order."""
        session = self.session
        made: list[Report] = []
        built: list[Trainer] = []

        def report(value: Report) -> None:
            if not built:
                made.append(value)
                return
            session.tell(lines_of(value, session.most_outputs))
            self.watch(value)

        every = self.line.integer("log_interval")
        told = 0  # of one iteration it is asked again at each batch of a test

        def requested() -> int:
            nonlocal told
            iteration = built[0].iteration
            progress.update(iteration)
            if every > 0 and iteration % every == 0 and iteration != told:
                told = iteration
                text = stats_line(built[0].training)
                session.log.write(note(f"Iteration {iteration}, {text}"))
            return self.requests.take()

        solver, path = self.document.message, self.document.path
        trainer = Trainer(
            solver,
            path,
            settings,
            report,
            requested,
            client,
            document=self.document,
        )
        built.append(trainer)
        session.tell(scaffolding_lines(self.document, trainer, made))
        return trainer


def _place(
    line: CommandLine, environ: Mapping[str, str], gpus: Sequence[int]
) -> tuple[RunSettings, Client | None]:
    """The settings of this rank and its place at the parameter server."""
    if AGENT not in environ:
        return run_settings(line, gpus=gpus), None
    rank, ranks = int(environ[RANK]), int(environ[RANKS])
    agents = local_number(environ)[1]
    settings = run_settings(line, rank, ranks, gpus, local_place(environ), agents)
    return settings, open_client(
        environ, limits_of(line), settings.overlap, line.switch("read_my_writes")
    )


def _check_cache(trainer: Trainer) -> None:
    """Refuse a -param_cache that names tables which the net has not."""
    cache = trainer.settings.param_cache
    if cache is not None:
        cache.check(trainer.net.table_of.values())


def _announce(session: Session, trainer: Trainer) -> None:
    """What differs from Caffe's plain run, in a line each."""
    settings = trainer.settings
    if settings.ranks > 1:
        session.log.write(note(meaning(trainer.training)))
    if trainer.training.gpus is not None:
        session.log.write(note(trainer.training.gpus.text))
    if settings.memory is not None:
        plan = trainer.net.executor.plan
        text = (
            f"A step runs in {show_bytes(plan.arena_bytes)} instead of "
            f"{show_bytes(plan.total_bytes)} and moves {show_bytes(plan.moved_bytes)}"
        )
        session.log.write(note(text))


def meaning(training: Training) -> str:
    """What several workers mean for the batch, the epoch and the gradient."""
    ranks, bodies = training.settings.ranks, training.bodies
    how = "averaged" if training.settings.reduce == "mean" else "summed"
    source = training.sources.first()
    if source is None:
        return f"{ranks} workers x iter_size {bodies}; gradients are {how}"
    batch, records = source
    whole = batch * ranks * bodies
    text = (
        f"batch {batch} x {ranks} workers x iter_size {bodies} = {whole} images an "
        f"update"
    )
    own = training.settings.own_data
    if records:
        epoch = records * (ranks if own else 1) // whole
        text += f"; one epoch = {max(epoch, 1)} iterations"
    data = "; each worker has records of its own" if own else ""
    return f"{text}; gradients are {how}{data}"
