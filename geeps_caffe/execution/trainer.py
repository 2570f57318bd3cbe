"""The solver's loop: iterate, test, display, snapshot, in the order of Caffe's."""

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from geeps_caffe.config.file_list import files_in
from geeps_caffe.config.job import RunSettings
from geeps_caffe.data.pairing import paired_lengths_warning
from geeps_caffe.execution import reports
from geeps_caffe.execution.net import PlannedNet
from geeps_caffe.execution.nets import SolverNets, solver_nets
from geeps_caffe.execution.reports import Output, Report
from geeps_caffe.execution.saving import Saving, prepare
from geeps_caffe.execution.smoothing import SmoothedLoss
from geeps_caffe.execution.solver_checks import check_solver
from geeps_caffe.execution.tester import TestNet
from geeps_caffe.execution.training import Training, Watch
from geeps_caffe.execution.weights import copy_weights
from geeps_caffe.files import DISK, FileSystem
from geeps_caffe.graph.filter import NetState
from geeps_caffe.layers.source import SourceLayer
from geeps_caffe.paramserver import Client
from geeps_caffe.solvers import Start, current_step, learning_rate
from prototxt import Document

Reporter = Callable[[Report], None]
STOP, SNAPSHOT = 1, 2  # what a signal may ask for
_NO_RATE = (
    "{} gives no base_lr: the rate is 0, as in Caffe, and nothing is learned; give one"
)
_NO_ITERATIONS = (
    "{} gives no max_iter: it is 0, as in Caffe, and nothing is trained; give one"
)


def _silent(report: Report) -> None:
    del report


class Trainer:
    """A solver at work.

    Args:
        solver: the SolverParameter message, in the present format.
        path: the solver's file, for messages and the snapshot's name.
        settings: how to run it here.
        report: gets everything that Caffe would log.
        requested: asked after each iteration; STOP and SNAPSHOT bits.
        client: the parameter server; by default one of this process alone.
        disk: where snapshots are written.
        document: the solver as it was read; it knows the lines of a net within.

    Raises:
        InputError: among others, where snapshots could not be written.
    """

    def __init__(
        self,
        solver: Any,
        path: str = "",
        settings: RunSettings | None = None,
        report: Reporter = _silent,
        requested: Callable[[], int] = lambda: 0,
        client: Client | None = None,
        disk: FileSystem = DISK,
        document: Document | None = None,
    ) -> None:
        self.solver, self.path = solver, path
        self.settings = settings or RunSettings()
        self.report, self._requested, self._disk = report, requested, disk
        check_solver(solver, path, document)
        if solver.snapshot:
            prepare(solver, path, self.settings.rank, disk)
        if not solver.HasField("base_lr"):
            self._warn(_NO_RATE)
        self.training = Training(solver, self._nets(document), self.settings, client)
        self.net: PlannedNet = self.training.net
        self.tests = [
            TestNet(i, named, self.training, solver.test_iter[i])
            for i, named in enumerate(self.training.named_tests)
        ]
        self.iteration = 0
        self.stopped = False
        self._smoothed = SmoothedLoss(solver.average_loss)
        self._start = Start()  # of the learning rate's steps
        self._shown_step = 0
        self._saving = Saving(self.training, path, self._tell, disk)
        self._last_shown = (time.perf_counter(), 0)
        self._watch: Watch | None = None  # of the last iteration
        self._compare_sources()
        for weights in solver.weights:
            for name in files_in(weights):
                self.finetune(name)

    def _nets(self, document: Document | None) -> SolverNets:
        settings = self.settings
        stages = NetState("TRAIN", settings.level, settings.stages)
        made_up = settings.made_up
        nets = solver_nets(self.solver, self.path, stages, document, made_up)
        for severity, text in nets.remarks():
            self.report(reports.Notice(text, severity))
        return nets

    def _compare_sources(self) -> None:
        """Warn of sources in one net that will fall out of step."""
        for net in (self.net, *(test.net for test in self.tests)):
            sources = [
                (node.name, node.layer.length)
                for node in net.graph.nodes
                if isinstance(node.layer, SourceLayer)
            ]
            warning = paired_lengths_warning(sources)
            if warning:
                self.report(reports.Notice(warning, "W"))

    def _tell(self, report: Report) -> None:
        self.report(report)

    def _warn(self, text: str) -> None:
        """Say what the solver's file may not mean; its name comes first."""
        notice = reports.Notice(text.format(self.path or "the solver"), "W")
        self.report(notice)

    # -- weights and states ----------------------------------------------------

    def finetune(self, path: str) -> None:
        """Copy weights from a file, for all nets."""
        ignored = copy_weights(self.net, path)
        self.training.publish_weights()
        self.report(reports.Finetuning(path, tuple(ignored)))
        for test in self.tests:
            test.copy_weights(path)

    def restore(self, path: str) -> None:
        """Go on from a solver state: weights, history, iteration, data.

        Rates are those of the solver's file; only the number of steps that were taken
        comes from the state, as in Caffe.
        """
        self._start = self._saving.read(path)
        self.iteration = self._start.iteration
        self._shown_step = self._start.step
        self._smoothed = SmoothedLoss(self.solver.average_loss)

    def snapshot(self) -> str:
        """Write weights and state; returns the weights' file name.

        Raises:
            InputError: a file can't be written.
        """
        return self._saving.write(self.iteration, self._start)

    def _try_snapshot(self) -> None:
        self._saving.try_to_write(self.iteration, self._start)

    # -- the loop --------------------------------------------------------------

    def solve(self, resume: str | None = None) -> None:
        """Train to max_iter with everything that the solver asks for."""
        self.report(reports.Solving(self.net.graph.name, self.solver.lr_policy))
        self.stopped = False
        if not self.solver.HasField("max_iter"):
            self._warn(_NO_ITERATIONS)
        if self.solver.snapshot_after_train:
            prepare(self.solver, self.path, self.settings.rank, self._disk)
        if resume:
            self.restore(resume)
        self.step(max(self.solver.max_iter - self.iteration, 0))
        self._last_snapshot()
        if self.stopped:
            self.report(reports.Finished(self.iteration, early=True))
            return
        if self.solver.display and self.iteration % self.solver.display == 0:
            loss = self.training.forward_only(self.iteration, self._watch)
            self._smoothed.add(loss)
            self.report(reports.Finished(self.iteration, self._smoothed.value))
        if self._tests_at(self.iteration):
            self.test_all()
        self.report(reports.Finished(self.iteration))

    def _last_snapshot(self) -> None:
        """snapshot_after_train, unless there is one of this iteration.

        What could not be written on the way is tried once more: now it is an error.
        """
        if not self.solver.snapshot_after_train:
            return
        self.training.settle()  # all ranks, though but one writes
        every, saving = self.solver.snapshot, self._saving
        due = not every or self.iteration % every != 0
        if saving.saved != self.iteration and (due or saving.failed == self.iteration):
            self.snapshot()

    def step(self, iterations: int) -> None:
        """Do so many iterations, or fewer if a stop is requested."""
        stop = self.iteration + iterations
        self._smoothed = SmoothedLoss(self.solver.average_loss)
        self._last_shown = (time.perf_counter(), self.iteration)
        while self.iteration < stop:
            if self._tests_at(self.iteration) and (
                self.iteration > 0 or self.solver.test_initialization
            ):
                self.test_all()
                if self.stopped:
                    return
            self._iterate()
            flags = self.training.agreed(self._requested())
            every = self.solver.snapshot
            if (every and self.iteration % every == 0) or flags & SNAPSHOT:
                self._try_snapshot()
            if flags & STOP:
                self.stopped = True
                return

    def apply_update(self) -> None:
        """Update by the gradients that are there, as an iteration does at its end."""
        self.training.apply_update(self.iteration, self.rate())
        self.iteration += 1

    def _iterate(self) -> None:
        iteration, rate = self.iteration, self.rate()
        display = self.solver.display
        shown = bool(display and iteration % display == 0)
        self._saving.before_update()
        self._watch = self._debug if shown and self.solver.debug_info else None
        self._smoothed.add(self.training.iterate(iteration, rate, self._watch))
        step = self._step_taken(iteration)
        if shown:
            self._display(iteration, rate, step)
        elif step is not None:
            self.report(reports.StepReached(iteration, step))
        clipping = self.training.clipping()
        if clipping is not None:
            self.report(clipping)
        self.iteration += 1

    def rate(self) -> float:
        """The learning rate of the next update."""
        return learning_rate(self.solver, self.iteration, self._start)

    def _step_taken(self, iteration: int) -> int | None:
        """multistep: the number of the step that this iteration's rate took."""
        step = current_step(self.solver, iteration, self._start)
        taken = self.solver.lr_policy == "multistep" and step > self._shown_step
        self._shown_step = step
        return step if taken else None

    def _debug(self, found: Sequence[Report]) -> None:
        for report in found:
            self.report(report)

    def _display(self, iteration: int, rate: float, step: int | None) -> None:
        now = time.perf_counter()
        then, last = self._last_shown
        self.report(
            reports.Displayed(
                iteration,
                self._smoothed.value,
                tuple(outputs_of(self.net)),
                rate,
                now - then,
                iteration - last,
                self.solver.display,
                step,
            )
        )
        self._last_shown = (now, iteration)

    # -- tests -----------------------------------------------------------------

    def _tests_at(self, iteration: int) -> bool:
        every = self.solver.test_interval
        return bool(every and iteration % every == 0 and self.tests)

    def test_all(self) -> None:
        """Run all test nets at the present weights."""
        self.training.settle()
        for test in self.tests:
            if self.stopped:
                return
            begun = reports.Testing(self.iteration, test.index, test.ignored)
            self.report(begun)
            watch = self._debug if self.solver.debug_info else None
            with_loss = self.solver.test_compute_loss
            tested = test.run(self._stop_requested, with_loss, watch)
            self.stopped = self.stopped or tested.interrupted
            self.report(tested)

    def _stop_requested(self) -> bool:
        if self.settings.ranks > 1:
            return False  # agreed upon after the iteration
        flags = self._requested()
        if flags & SNAPSHOT:
            self._try_snapshot()
        return bool(flags & STOP)

    def close(self, *, failed: bool = False) -> None:
        """Give back files, threads and the place at the parameter server.

        If this worker has `failed`, others that wait for it end too.
        """
        self.training.close(failed=failed)
        for test in self.tests:
            test.net.close()


def outputs_of(net: PlannedNet) -> list[Output]:
    """The numbers of a net's output blobs, one after the other."""
    found: list[Output] = []
    for name, weight, data in net.outputs():
        for value in np.asarray(data).reshape(-1):
            found.append(Output(len(found), name, float(value), weight))
    return found
