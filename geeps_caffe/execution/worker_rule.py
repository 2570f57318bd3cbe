"""The paper's way: each worker runs the solver's rule, and tables only add.

The worker's gradient becomes a finished update before it is handed in; the rule's
history is the worker's own. For SGD and Nesterov, whose updates are linear in the
gradient, N workers are still one of N batches; for other rules they are near it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from geeps_caffe.device.array import Array
from geeps_caffe.errors import UsageError
from geeps_caffe.paramserver import Client
from geeps_caffe.paramserver import Table as ServerTable
from geeps_caffe.solvers import Hyper, Rule
from geeps_caffe.solvers.gradients import normalization, regularize

_CHUNK = 1 << 15  # elements handled at a time


class WorkerRule:
    """A rule with the history of all tables, in the tables' layout.

    `hyper` holds the numbers of the present iteration.
    """

    def __init__(
        self,
        rule: Rule,
        hyper: Hyper,
        client: Client,
        tables: Sequence[ServerTable],
    ) -> None:
        if hyper.clips:
            raise UsageError(
                "-update worker: clip_gradients needs the norm of all workers' "
                "gradients together, which no worker knows; give -update shard"
            )
        rule.check(hyper)
        self.hyper = hyper
        self._rule, self._client = rule, client
        self._tables = {table.name: table for table in tables}
        self._history = {
            table.name: [np.zeros(table.size, table.dtype) for _ in rule.slots]
            for table in tables
        }
        self._work: Mapping[str, Array] = {
            d: np.empty((3, _CHUNK), d) for d in ("float32", "float64")
        }

    def set_hyper(self, rate: float, iteration: int) -> None:
        """The learning rate and iteration of the updates that follow."""
        self.hyper = replace(self.hyper, rate=rate, iteration=iteration)

    def apply(self, name: str) -> None:
        """Turn the gradient in a table's update buffer into what is to be added."""
        table, hyper = self._tables[name], self.hyper
        weights = self._client.memory(name)
        gradient = self._client.update_memory(name)
        scale = normalization(hyper, None)
        for part in table.parts:
            local = hyper.local(part.lr_mult, part.decay_mult)
            for start in range(part.offset, part.stop, _CHUNK):
                where = slice(start, min(start + _CHUNK, part.stop))
                if part.lr_mult == 0:
                    gradient[where] = 0
                    continue
                slots = [slot[where] for slot in self._history[name]]
                self._finish(gradient[where], weights[where], slots, local, scale)

    def _finish(
        self,
        gradient: Array,
        weights: Array,
        slots: Sequence[Array],
        hyper: Hyper,
        scale: float,
    ) -> None:
        n = gradient.size
        work, out, spare = (array[:n] for array in self._work[str(gradient.dtype)])
        np.multiply(gradient, scale, out=work)
        grad = regularize(work, weights, hyper, work, spare)
        loses = self._rule.update(grad, slots, hyper, out, spare)
        np.negative(loses, out=gradient)

    # As the client has them, for snapshots

    def history(self, table: str) -> list[Array]:
        """This worker's history arrays of a table."""
        return self._history[table]

    def assign_history(self, table: str, slots: Sequence[Array]) -> None:
        """Replace them."""
        for array, values in zip(self._history[table], slots, strict=True):
            array[...] = values
