"""The training net on the parameter server: one iteration, and what surrounds it."""

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from geeps_caffe.config.job import RunSettings
from geeps_caffe.device.array import Array
from geeps_caffe.engines.table import engine_of
from geeps_caffe.errors import BudgetError
from geeps_caffe.execution.agreement import agree_on_layouts, check_records
from geeps_caffe.execution.debug import watched_forward, watched_step
from geeps_caffe.execution.gathering import join_gpus
from geeps_caffe.execution.history import History
from geeps_caffe.execution.job_budget import refusal
from geeps_caffe.execution.job_nets import JobNets
from geeps_caffe.execution.net import PlannedNet
from geeps_caffe.execution.nets import NamedNet, SolverNets
from geeps_caffe.execution.others import average_state
from geeps_caffe.execution.pinning import pin_tables, unpin_tables
from geeps_caffe.execution.reports import BlobMean, Clipped, ParamNorms
from geeps_caffe.execution.sharing import shared_names
from geeps_caffe.execution.sources import Sources
from geeps_caffe.execution.surroundings import (
    exchange_of,
    limits_of,
    own_client,
    run_seed,
    updates_by_rows,
    with_reach,
)
from geeps_caffe.execution.tables import ParamTables
from geeps_caffe.execution.timing import LayerTimes
from geeps_caffe.execution.weights import fill_params
from geeps_caffe.execution.worker_rule import WorkerRule
from geeps_caffe.graph.graph import Graph
from geeps_caffe.layers.base import Setting
from geeps_caffe.paramserver import ADD, Client
from geeps_caffe.solvers import find_rule, read_hyper

Hook: TypeAlias = Callable[[], None]
Watch: TypeAlias = Callable[[list[BlobMean | ParamNorms]], None]


class Training:
    """A solver's training net, its tables, and the client that owns them."""

    def __init__(
        self,
        solver: Any,
        nets: SolverNets,
        settings: RunSettings,
        client: Client | None,
    ) -> None:
        self.engine = engine_of(settings)
        settings = with_reach(settings, self.engine, shared=client is not None)
        self.solver, self.settings = solver, settings
        self.client = client or own_client(settings, self.engine)
        self.seed = run_seed(solver, settings, self.client)
        self._times = LayerTimes() if settings.times else None
        self._others = exchange_of(self.client, settings)
        self.rule = find_rule(solver.type)
        self.bodies = int(solver.iter_size)
        self.named, self.named_tests = nets.training, nets.tests
        limits = limits_of(settings, self.engine)
        self.nets = JobNets(self.engine, solver, settings, self.seed, limits)
        self.net = self.nets.training(
            self.named,
            self._others,
            by_rows=client is None and updates_by_rows(solver, settings),
        )
        self.net.check_room()
        if not settings.own_data:
            check_records(self.net, self.client)
        agree_on_layouts(self.net, self.client)
        shown = bool(solver.debug_info)
        self.gpus = join_gpus(self.client, settings, self.engine, shown=shown)
        #: Called before an iteration, and before its update (from Python).
        self.hooks: list[tuple[Hook, Hook]] = []
        self.own_rule: WorkerRule | None = None
        self.tables = self._make_tables()
        self.net.tables = self.tables
        self.batch = largest_batch(self.net.graph)
        if self._others is not None:
            self._others.watch(self.net)
        with self._within_budget():
            fill_params(self.net, self.seed, self._not_mine())
        self.publish_weights()
        if self.tables.keys:
            self.client.start_iterations()

    # -- build -----------------------------------------------------------------

    def other_net(self, named: NamedNet, setting: Setting | None = None) -> PlannedNet:
        """See `JobNets.other`."""
        with self._within_budget():
            return self.nets.other(named, self.net, setting)

    @contextmanager
    def _within_budget(self) -> Iterator[None]:
        """Of a budget that one net can't keep, tell the least that all nets can."""
        try:
            yield
        except BudgetError as error:
            tests = (self.nets.compiled(n, self.net) for n in self.named_tests)
            raise refusal(error, tests, self.settings.staged) from error

    def shared(self, graph: Graph) -> dict[str, str]:
        """Param keys of another net -> those of the training net's same blobs."""
        return shared_names(graph, self.net.graph)

    def _not_mine(self) -> Collection[str]:
        """The params whose first values another rank sets: one fills the tables."""
        return () if self.settings.rank == 0 else self.net.table_of

    def _make_tables(self) -> ParamTables:
        tables = ParamTables(self.client, self.net.program, self.net.graph, self.gpus)
        if self.net.table_of:
            hyper = read_hyper(self.solver, 0.0, 0)
            by_worker = self.settings.update == "worker"
            made = tables.create(
                self.net.table_of,
                ADD if by_worker else self.rule.type_name,
                self.settings.reduce,
                replace(hyper, clip_gradients=-1.0) if by_worker else hyper,
                self.settings.slack,
            )
            pin_tables(self.client, self.engine.device)
            if by_worker:
                self.own_rule = WorkerRule(self.rule, hyper, self.client, made)
                tables.finish = self.own_rule.apply
            tables.record(self.bodies)
            tables.lend(self.net.params)
        return tables

    def publish_weights(self) -> None:
        """Make the weights in rank 0's memory those of all workers; all must call it.

        With one worker they lie in the tables already.
        """
        if self.settings.ranks == 1:
            return
        if self.settings.rank == 0:
            for table, size in self.tables.totals.items():
                self.client.assign(table, np.array(self.client.memory(table)[:size]))
        self.client.barrier()

    # -- run -------------------------------------------------------------------

    def iterate(self, iteration: int, rate: float, watch: Watch | None = None) -> float:
        """Forward, backward and update over iter_size batches; the mean loss.

        `watch` is told about every batch's blobs (debug_info).
        """
        if self.hooks:
            return self._iterate_with_hooks(iteration, rate, watch)
        net, total = self.net, 0.0
        self._set_hyper(iteration, rate)
        for body in range(self.bodies):
            net.follow_sources(first=body == 0)
            self.tables.body = body
            net.executor.begin(iteration, self._records(body))
            if self._times is not None:
                self._times.step(net, first=body == 0)
            elif watch is None:
                net.step(first=body == 0)
            else:
                watch(watched_step(net, partial(net.executor.watch, body == 0)))
            total += net.loss()
        return total / self.bodies

    def _iterate_with_hooks(
        self, iteration: int, rate: float, watch: Watch | None
    ) -> float:
        """The same in two parts: all gradients, then all updates."""
        for start, _ in self.hooks:
            start()
        net, total = self.net, 0.0
        for name in net.program.added_up:
            net.executor.clear(name)
        for body in range(self.bodies):
            net.follow_sources(first=body == 0)
            net.executor.begin(iteration, self._records(body))
            run = partial(net.executor.run, lambda position, entry: True)
            if watch is None:
                run()
            else:
                watch(watched_step(net, run))
            total += net.loss()
        for _, gradients_ready in self.hooks:
            gradients_ready()
        self.apply_update(iteration, rate)
        return total / self.bodies

    def apply_update(self, iteration: int, rate: float) -> None:
        """Hand in the gradients that are there; only the calls to the tables run."""
        self._set_hyper(iteration, rate)
        for body in range(self.bodies):
            self.tables.body = body
            self.net.executor.hand_in()

    def _set_hyper(self, iteration: int, rate: float) -> None:
        if self.tables.keys:
            self.client.set_hyper(rate, iteration)
        if self.own_rule is not None:
            self.own_rule.set_hyper(rate, iteration)

    def forward_only(self, iteration: int, watch: Watch | None = None) -> float:
        """One forward pass at the present weights, without an update.

        `watch` is told about its blobs (debug_info).
        """
        self._refresh()
        self.net.follow_sources()
        self.net.executor.begin(iteration, self._records(0))
        if watch is None:
            end = self.net.program.backward_start
            self.net.executor.run(lambda position, _: position < end)
        else:
            watch(watched_forward(self.net))
        return self.net.loss()

    def _records(self, body: int) -> Array:
        """Global indices, within the iteration, of this worker's records."""
        ranks, rank = self.settings.ranks, self.settings.rank
        first = body * self.batch * ranks
        return first + np.arange(self.batch, dtype=np.int64) * ranks + rank

    def settle(self) -> None:
        """Make weights and statistics those of all workers; all must call it.

        Test nets and snapshots come after it.
        """
        self._refresh()
        if self.settings.ranks > 1:
            average_state(self.net, self.client)

    def _refresh(self) -> None:
        """Wait until all updates so far are in the weights of this worker."""
        for table in self.tables.keys:
            self.client.refresh(table)

    def agreed(self, flags: int) -> int:
        """What any worker was asked to do, as all workers see it alike."""
        if self.settings.ranks == 1 or not self.tables.keys:
            return flags
        self.client.request(flags)
        agreed = self.client.requested()
        self.client.withdraw(agreed)
        return agreed

    def learned(self) -> dict[str, Array]:
        """The params that updates change, copied, in their plain shapes."""
        keys = (key for members in self.tables.keys.values() for key in members)
        return {key: np.array(self.net.param(key), np.float32) for key in keys}

    def clipping(self) -> Clipped | None:
        """What clip_gradients did in the last iteration, if it did anything."""
        if self.solver.clip_gradients < 0:
            return None
        found = self.client.clipping()
        if found is None or found.norm <= self.solver.clip_gradients:
            return None
        return Clipped(found.norm, self.solver.clip_gradients)

    @property
    def layer_seconds(self) -> dict[str, dict[str, float]]:
        """Seconds of each layer so far, by direction, where they are measured."""
        return {} if self._times is None else self._times.seconds

    # -- state -----------------------------------------------------------------

    def history(self) -> History:
        """The update rule's history blobs."""
        owner = self.own_rule or self.client
        return History(self.net, self.tables, owner, len(self.rule.slots))

    @property
    def sources(self) -> Sources:
        """The sources of the training net's records."""
        return Sources(self.net.graph)

    def close(self, *, failed: bool = False) -> None:
        """Give back files, threads and the place at the parameter server."""
        self.net.close()
        if self.gpus is not None:
            self.gpus.close(failed=failed)
        if self.tables.keys:
            unpin_tables(self.client, self.engine.device)
        self.client.shutdown(failed=failed)


def largest_batch(graph: Graph) -> int:
    """The longest axis 0 of any value: so many records may need random numbers."""
    return max((v.shape[0] for v in graph.values.values() if v.shape), default=1)
