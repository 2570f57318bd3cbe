"""The solver's loop: iterate, test, display, snapshot, in the order of Caffe's."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from geeps_caffe.config.job import RunSettings
from geeps_caffe.errors import GeepsCaffeError
from geeps_caffe.execution import reports
from geeps_caffe.execution.history import History
from geeps_caffe.execution.net import PlannedNet
from geeps_caffe.execution.reports import Output, Report
from geeps_caffe.execution.smoothing import SmoothedLoss
from geeps_caffe.execution.snapshot import (
    file_names,
    load_state,
    read_position,
    snapshot_prefix,
    write_position,
    write_snapshot_state,
)
from geeps_caffe.execution.tester import TestNet
from geeps_caffe.execution.training import Training
from geeps_caffe.execution.weights import copy_weights, save_weights
from geeps_caffe.files import DISK, FileSystem
from geeps_caffe.paramserver import Client
from geeps_caffe.solvers import current_step, learning_rate

Reporter = Callable[[Report], None]
STOP, SNAPSHOT = 1, 2  # what a signal may ask for


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
    ) -> None:
        self.solver, self.path = solver, path
        self.settings = settings or RunSettings()
        self.report, self._requested, self._disk = report, requested, disk
        self.training = Training(solver, path, self.settings, client)
        self.net: PlannedNet = self.training.net
        self.tests = [
            TestNet(i, named, self.training, solver.test_iter[i])
            for i, named in enumerate(self.training.named_tests)
        ]
        self.iteration = 0
        self.stopped = False
        self._started = False
        self._smoothed = SmoothedLoss(solver.average_loss)
        self._shown_step = 0
        self._last_shown = (time.perf_counter(), 0)
        for weights in solver.weights:
            for name in weights.split(","):
                self.finetune(name)

    # -- weights and states ----------------------------------------------------

    def finetune(self, path: str) -> None:
        """Copy weights from a file, for all nets."""
        ignored = copy_weights(self.net, path)
        self.training.publish_weights()
        self.report(reports.Finetuning(path, tuple(ignored)))

    def restore(self, path: str) -> None:
        """Go on from a solver state: weights, history, iteration, data."""
        self.report(reports.Restoring(path))
        state = load_state(path)
        copy_weights(self.net, str(state.weights_path()))
        self.training.publish_weights()
        self._history().restore(state.history, path)
        self.iteration = state.iter
        self._smoothed = SmoothedLoss(self.solver.average_loss)
        self._restore_position(path)

    def _restore_position(self, path: str) -> None:
        position = read_position(path)
        if position is None:
            if self.training.has_position():
                self.report(
                    reports.Notice(
                        f"{path} has no data position: the data starts again at its "
                        "first record"
                    )
                )
            return
        self.training.restore_position(position)

    def snapshot(self) -> str:
        """Write weights and state; returns the weights' file name.

        Raises:
            InputError: a file can't be written.
        """
        prefix = snapshot_prefix(self.solver, self.path)
        hdf5 = self.solver.snapshot_format == 0
        weights, state, position = file_names(prefix, self.iteration, hdf5)
        history = self._history().blobs()
        positions = self.training.positions()
        if self.settings.rank != 0:
            return weights
        self.report(reports.Snapshotting(weights, "weights", hdf5))
        save_weights(self.net, weights, self._disk)
        write_position(
            position, positions, self.settings.ranks, self.training.seed, self._disk
        )
        self.report(reports.Snapshotting(state, "state", hdf5))
        step = current_step(self.solver, max(self.iteration - 1, 0))
        write_snapshot_state(state, self.iteration, weights, history, step, self._disk)
        return weights

    def _history(self) -> History:
        return self.training.history()

    def _try_snapshot(self) -> None:
        """A snapshot on the way: if it fails, training goes on."""
        try:
            self.snapshot()
        except (GeepsCaffeError, OSError) as error:
            prefix = snapshot_prefix(self.solver, self.path)
            self.report(reports.SnapshotFailed(prefix, str(error)))

    # -- the loop --------------------------------------------------------------

    def solve(self, resume: str | None = None) -> None:
        """Train to max_iter with everything that the solver asks for."""
        self.report(reports.Solving(self.net.graph.name, self.solver.lr_policy))
        self.stopped = False
        if resume:
            self.restore(resume)
        self.step(max(self.solver.max_iter - self.iteration, 0))
        every = self.solver.snapshot
        if self.solver.snapshot_after_train and not (
            every and self.iteration % every == 0
        ):
            self.snapshot()
        if self.stopped:
            self.report(reports.Finished(self.iteration, early=True))
            return
        loss = None
        if self.solver.display and self.iteration % self.solver.display == 0:
            self._smoothed.add(self.training.forward_only(self.iteration))
            loss = self._smoothed.value
            self.report(reports.Finished(self.iteration, loss))
        if self._tests_at(self.iteration):
            self.test_all()
        self.report(reports.Finished(self.iteration))

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

    def _iterate(self) -> None:
        iteration = self.iteration
        rate = self.rate()
        self._note_step(iteration)
        loss = self.training.iterate(iteration, rate)
        self._smoothed.add(loss)
        display = self.solver.display
        if display and iteration % display == 0:
            self._display(iteration, rate)
        self.iteration += 1

    def rate(self) -> float:
        """The learning rate of the next update."""
        return learning_rate(self.solver, self.iteration)

    def _note_step(self, iteration: int) -> None:
        if self.solver.lr_policy != "multistep":
            return
        step = current_step(self.solver, iteration)
        if step > self._shown_step:
            self.report(reports.StepReached(iteration, step))
        self._shown_step = step

    def _display(self, iteration: int, rate: float) -> None:
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
            )
        )
        clipping = self.training.clipping()
        if clipping is not None:
            self.report(clipping)
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
            self.report(reports.Testing(self.iteration, test.index))
            tested = test.run(self._stop_requested, self.solver.test_compute_loss)
            self.stopped = self.stopped or tested.interrupted
            self.report(tested)

    def _stop_requested(self) -> bool:
        if self.settings.ranks > 1:
            return False  # agreed upon after the iteration
        flags = self._requested()
        if flags & SNAPSHOT:
            self._try_snapshot()
        return bool(flags & STOP)

    def close(self) -> None:
        """Give back files, threads and the place at the parameter server."""
        self.training.close()
        for test in self.tests:
            test.net.close()


def outputs_of(net: PlannedNet) -> list[Output]:
    """The numbers of a net's output blobs, one after the other."""
    found = []
    for name, weight, data in net.outputs():
        for value in np.asarray(data).reshape(-1):
            found.append(Output(len(found), name, float(value), weight))
    return found
