"""How the nets of a job are made: the one that learns, and those on its params."""

from dataclasses import dataclass
from typing import Any

from geeps_caffe.config.job import RunSettings
from geeps_caffe.engines.engine import Engine, Layout, plain_layout
from geeps_caffe.execution.grouping import assign_tables
from geeps_caffe.execution.layer_code import Others
from geeps_caffe.execution.net import Limits, PlannedNet, kept_values
from geeps_caffe.execution.nets import NamedNet
from geeps_caffe.execution.sharing import shared_names
from geeps_caffe.execution.weights import fill_params
from geeps_caffe.graph.build import build_graph
from geeps_caffe.graph.graph import Graph
from geeps_caffe.graph.remarks import log_remarks
from geeps_caffe.layers.base import Setting
from geeps_caffe.schedule.passes import NAMES as PASSES
from geeps_caffe.schedule.program import Options


@dataclass(frozen=True)
class JobNets:
    """Makes a job's nets, all on one engine and within the same limits."""

    engine: Engine
    solver: Any
    settings: RunSettings
    seed: int
    limits: Limits

    def training(
        self, named: NamedNet, others: Others | None, *, by_rows: bool
    ) -> PlannedNet:
        """The net that learns.

        Args:
            named: the net.
            others: what its layers exchange with other workers' layers.
            by_rows: see `Options`.
        """
        settings = self.settings
        graph = build_graph(named.source, named.state, self.share)
        log_remarks(graph)
        options = Options(
            settings.dtype,
            backward=any(node.needs_backward for node in graph.nodes),
            keep_all=settings.keep_all,
            accumulate=settings.keep_all or self.solver.iter_size > 1,
            keep=kept_values(graph),
            by_rows=by_rows,
            param_cache=settings.param_cache,
            without=self._without,
        )
        return PlannedNet(
            graph,
            self.engine,
            options,
            layouts=table_layouts(graph, settings),
            table_of=assign_tables(graph, settings.grouping),
            others=others,
            limits=self.limits,
            seed=self.seed,
        )

    @property
    def _without(self) -> frozenset[str]:
        """Passes to leave out: all with debug_info, which is about every blob."""
        return frozenset(PASSES if self.solver.debug_info else self.settings.without)

    def other(
        self, named: NamedNet, trained: PlannedNet, setting: Setting | None = None
    ) -> PlannedNet:
        """A test net on the params of the training net, matched by layer name.

        Args:
            named: the net.
            trained: the training net.
            setting: its share of the records; None: as one process alone.
        """
        net = self.compiled(named, trained, setting)
        log_remarks(net.graph)
        fill_params(net, self.seed, shared_names(net.graph, trained.graph))
        if self.limits.budget is not None:
            net.bind()  # a budget that a test net can't keep is refused now
        return net

    def compiled(
        self, named: NamedNet, trained: PlannedNet, setting: Setting | None = None
    ) -> PlannedNet:
        """The same without a plan yet, and without values in params of its own."""
        graph = build_graph(named.source, named.state, setting or self.alone)
        options = Options(
            self.settings.dtype,
            backward=False,
            keep_all=self.settings.keep_all,
            keep=kept_values(graph),
            param_cache=self.settings.param_cache,
            without=self._without,
        )
        return PlannedNet(
            graph,
            self.engine,
            options,
            params=trained.params.renamed(shared_names(graph, trained.graph)),
            layouts=lent_layouts(graph, trained),
            limits=self.limits,
            seed=self.seed,
        )

    @property
    def alone(self) -> Setting:
        """Of a net that this process runs alone."""
        settings = self.settings
        return Setting(
            seed=self.seed, data_threads=settings.data_threads, dtype=settings.dtype
        )

    @property
    def spread(self) -> Setting:
        """Of a net whose whole batches are spread over the ranks, by turns."""
        settings = self.settings
        return Setting(
            rank=settings.rank,
            ranks=settings.ranks,
            whole_batches=True,
            data_threads=settings.data_threads,
            seed=self.seed,
            dtype=settings.dtype,
        )

    @property
    def share(self) -> Setting:
        """Of the training net, whose records the ranks share out one by one."""
        settings = self.settings
        return Setting(
            rank=settings.rank,
            ranks=settings.ranks,
            global_batch=settings.batch_mode == "global",
            own_data=settings.own_data,
            synced=settings.batchnorm == "sync",
            data_threads=settings.data_threads,
            seed=self.seed,
            dtype=settings.dtype,
        )


def table_layouts(graph: Graph, settings: RunSettings) -> dict[str, Layout]:
    """The layouts that params must have; others take what their engine wants."""
    if not settings.plain_tables:
        return {}
    shapes = {key: param.shape for key, param in graph.params.items()}
    return {key: plain_layout(s, settings.dtype) for key, s in shapes.items()}


def lent_layouts(graph: Graph, trained: PlannedNet) -> dict[str, Layout]:
    """The layouts of params that a net shares with the training net."""
    names, layouts = shared_names(graph, trained.graph), trained.layouts
    return {mine: layouts[its] for mine, its in names.items() if its in layouts}
