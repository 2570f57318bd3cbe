"""A training's snapshots: writing them, and going on from one."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from geeps_caffe.device.array import Array
from geeps_caffe.errors import GeepsCaffeError, PeerLost
from geeps_caffe.execution import reports
from geeps_caffe.execution.reports import Report
from geeps_caffe.execution.saved_weights import weights_writer
from geeps_caffe.execution.snapshot import (
    SnapshotFiles,
    file_names,
    load_state,
    position_writer,
    prepare_folder,
    read_position,
    snapshot_prefix,
    state_writer,
)
from geeps_caffe.execution.training import Training
from geeps_caffe.execution.weights import copy_weights, left_out
from geeps_caffe.files import FileSystem, write_together
from geeps_caffe.solvers import Start, current_step
from prototxt import PrototxtError


def own_state(path: str, rank: int) -> str:
    """A worker's own solver state, where workers run the rule."""
    return f"{path}.{rank}" if rank else path


def prepare(solver: Any, path: str, rank: int, disk: FileSystem) -> None:
    """See to it that snapshots can be written; rank 0 does.

    Raises:
        InputError: they can't.
    """
    if rank == 0:
        prepare_folder(snapshot_prefix(solver, path), disk)


@dataclass
class Saving:
    """Snapshots of one training.

    Attributes:
        training: what is saved.
        path: the solver's file.
        report: is told of each file.
        disk: where they are written.
        saved: the iteration of the last snapshot.
        failed: that of the last one that could not be written on the way.
    """

    training: Training
    path: str
    report: Callable[[Report], None]
    disk: FileSystem
    saved: int = -1
    failed: int = -1
    _before: dict[str, Array] = field(default_factory=dict)

    def before_update(self) -> None:
        """Remember the weights, if the update will be asked for (snapshot_diff)."""
        if self.training.solver.snapshot_diff:
            self._before = self.training.learned()

    def write(self, iteration: int, start: Start) -> str:
        """Write weights and state; returns the weights' file name.

        Raises:
            InputError: a file can't be written.
        """
        training, solver = self.training, self.training.solver
        names = file_names(solver, self.path, iteration)
        if training.settings.rank != 0:
            self._write_own_history(names, iteration, start)
            return names.weights
        self.report(reports.Snapshotting(names.weights, "weights", names.hdf5))
        self.report(reports.Snapshotting(names.state, "state", names.hdf5))
        step = current_step(solver, max(iteration - 1, 0), start)
        history = training.history().blobs()
        ranks, positions = training.settings.ranks, training.sources.positions()
        where = position_writer(positions, ranks, training.seed, self._histories)
        weights = weights_writer(training.net, names.hdf5, self._diffs())
        write_together(
            [
                (names.weights, weights),
                (names.position, where),
                (names.state, state_writer(names, iteration, history, step)),
            ],
            self.disk,
        )
        self.saved = iteration
        return names.weights

    def _write_own_history(
        self, names: SnapshotFiles, iteration: int, start: Start
    ) -> None:
        """Where workers run the rule: a state for each, beside that of rank 0."""
        training = self.training
        if training.own_rule is None:
            return
        path = own_state(names.state, training.settings.rank)
        step = current_step(training.solver, max(iteration - 1, 0), start)
        state = state_writer(names, iteration, training.history().blobs(), step)
        write_together([(path, state)], self.disk)

    def try_to_write(self, iteration: int, start: Start) -> None:
        """A snapshot on the way: if it fails, training goes on."""
        self.training.settle()
        try:
            self.write(iteration, start)
        except PeerLost:
            raise
        except (GeepsCaffeError, PrototxtError, OSError) as error:
            self.failed = iteration
            prefix = snapshot_prefix(self.training.solver, self.path)
            self.report(reports.SnapshotFailed(prefix, str(error)))

    def read(self, path: str) -> Start:
        """Go on from a solver state: weights, history, data. Returns where it was.

        Raises:
            InputError, PrototxtError: a file is missing, damaged, or of another net.
        """
        self.report(reports.Restoring(path))
        training, state = self.training, load_state(path)
        keep = training.settings.keep_momentum
        if keep:
            training.history().check(state.history, path)
        if state.learned_net:
            weights = str(state.weights_path())
            copy_weights(training.net, weights)
            for text in left_out(training.net, [weights]):
                self.report(reports.Notice(text, "W"))
            training.publish_weights()
        if keep and (training.settings.rank == 0 or training.own_rule is not None):
            own = self._state_with_history(path)
            training.history().restore(load_state(own).history, own)
        training.client.barrier()
        self._before = {}
        for text in self._read_position(path):
            self.report(reports.Notice(text))
        return Start(state.iter, state.current_step)

    @property
    def _histories(self) -> int:
        """How many there are: the tables' one, or one of each worker."""
        training = self.training
        return 1 if training.own_rule is None else training.settings.ranks

    def _state_with_history(self, path: str) -> str:
        """The state that holds this worker's history: its own, or that of rank 0.

        A worker's own counts if it is of this snapshot: as many wrote it as read it.
        """
        position = read_position(path) or {}
        written = position.get("histories", 1)
        if written == self._histories:
            return own_state(path, self.training.settings.rank)
        if written != 1:
            text = (
                f"{path} was written by {written} workers with a history each (-update "
                "worker), which these are not: all go on with that of rank 0"
            )
            self.report(reports.Notice(text, "W"))
        return path

    def _read_position(self, path: str) -> list[str]:
        position = read_position(path)
        if position is not None:
            return self.training.sources.restore(position["sources"])
        if not self.training.sources:
            return []
        return [
            f"{path} has no data position: the data starts again at its first record"
        ]

    def _diffs(self) -> dict[str, Array] | None:
        """snapshot_diff: by how much the last update made each param smaller."""
        if not self.training.solver.snapshot_diff:
            return None
        now = self.training.learned() if self._before else {}
        return {
            key: self._before[key] - now[key]
            if key in now
            else np.zeros(param.shape, np.float32)
            for key, param in self.training.net.graph.params.items()
        }
