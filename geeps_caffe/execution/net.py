"""A net that runs: its graph, its plans by input shape, and its params' memory."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from geeps_caffe.device.array import Array, Shape, count
from geeps_caffe.device.host_memory import host_bytes
from geeps_caffe.engines.engine import Engine, Layout
from geeps_caffe.errors import UsageError, unknown
from geeps_caffe.execution.executor import Executor
from geeps_caffe.execution.layer_code import Others
from geeps_caffe.execution.measured import Measurement
from geeps_caffe.execution.memory import ParamMemory, TurnArena
from geeps_caffe.execution.plans import Planning, plan_net
from geeps_caffe.execution.room import check_room
from geeps_caffe.execution.tables import ParamTables
from geeps_caffe.graph.build import reshape_graph
from geeps_caffe.graph.graph import Graph, Node
from geeps_caffe.layers.dummy_data import DummyData
from geeps_caffe.schedule.compile import compile_program
from geeps_caffe.schedule.costs import CostModel
from geeps_caffe.schedule.program import Options, Program

MOST_PLANS = 8  # kept per net, by input shapes


@dataclass(frozen=True)
class Limits:
    """How much memory a net may use, and how that is watched."""

    budget: int | None = None  # bytes of the arena
    share: bool | None = None  # one place for several arrays, by lifetime
    poison: bool = False  # overwrite what was swapped out
    turns: TurnArena | None = None  # shared by the nets of a job under a budget
    model: CostModel | None = None  # what instructions and copies cost; None: bytes
    recompute: bool = True  # cheap layers, where costs say that it is faster
    level: int = 0  # GeePS's mm_warning_level
    measure: bool = False  # find costs in the first steps, then plan anew
    graphs: bool = True  # launch what never changes as CUDA graphs, on a GPU

    @property
    def planning(self) -> Planning:
        """How plans are made within these limits."""
        return Planning(self.budget, self.share, self.model, self.recompute, self.level)


@dataclass
class PlannedNet:
    """Runs one graph on one engine.

    Args:
        graph: the net; replaced by `reshape`.
        engine: how to compute.
        options: dtype, backward, what stays readable.
        params: memory of params, shared with the nets of other phases.
        layouts: layouts of params that are fixed already.
        table_of: param key -> table, for a net that trains on the GeePS client.
    """

    graph: Graph
    engine: Engine
    options: Options
    params: ParamMemory = field(default_factory=ParamMemory)
    layouts: dict[str, Layout] = field(default_factory=dict)
    table_of: Mapping[str, str] = field(default_factory=dict)
    limits: Limits = Limits()
    seed: int = 1
    tables: ParamTables | None = None
    others: Others | None = None  # of a net that trains with several workers
    program: Program = field(init=False)
    _measurement: Measurement | None = field(init=False, default=None)
    _executor: Executor | None = field(init=False, default=None)
    _plans: dict[tuple[tuple[str, Shape], ...], tuple[Graph, Program, Executor]] = (
        field(init=False, default_factory=dict)
    )

    def __post_init__(self) -> None:
        self.program = self._compile()
        if self.limits.measure and self.limits.budget is not None:
            self._measurement = Measurement()

    def _compile(self) -> Program:
        program = compile_program(
            self.graph, self.engine, self.options, self.table_of, self.layouts
        )
        for key, name in program.params.items():
            self.layouts.setdefault(key, program.arrays[name].layout)
        return program

    def use_layouts(self, layouts: Mapping[str, Layout]) -> None:
        """Lay params out otherwise; before anything is bound."""
        assert self._executor is None, "the params have memory already"
        self.layouts = dict(layouts)
        self.program = self._compile()

    @property
    def executor(self) -> Executor:
        """The bound plan for the present shapes; made at first use."""
        if self._executor is None:
            plan = plan_net(self.program, self.graph, self.limits.planning)
            self.check_room(plan.arena_bytes)
            self._executor = Executor(
                self.graph,
                plan,
                self.engine,
                self.params,
                self.tables,
                others=self.others,
                turns=self.limits.turns,
                seed=self.seed,
                poison=self.limits.poison,
                graphs=self.limits.graphs,
            )
            self._keep()
        return self._executor

    def check_room(self, arena: int | None = None) -> None:
        """Refuse a net that this machine's memory can't hold; see `room.check_room`."""
        if not self.engine.device.on_host:
            arena = 0  # it lies on a GPU
        check_room(self.graph, self.program, host_bytes(), arena)

    def bind(self) -> None:
        """Make and bind the plan now; it is made at first use otherwise.

        Raises:
            PlanError: the plan can't keep the budget.
        """
        assert self.executor is not None

    def step(self, first: bool = True) -> None:
        """One step of the bound plan; see `Executor.step`."""
        if self._measurement is None:
            self.executor.step(first)
        else:
            self._measurement.step(self.executor, first)

    def _use_measurement(self) -> None:
        """Once enough was measured, plan anew, by time."""
        if self._measurement is not None and self._measurement.done:
            model = self._measurement.model(self.executor.device)
            self.limits, self._measurement = replace(self.limits, model=model), None
            self._executor = None
            self._plans.clear()

    def _keep(self) -> None:
        if len(self._plans) >= MOST_PLANS:
            del self._plans[next(iter(self._plans))]
        assert self._executor is not None
        self._plans[self._signature()] = (self.graph, self.program, self._executor)

    def _signature(self) -> tuple[tuple[str, Shape], ...]:
        """The shapes that decide all others: those of the sources' tops."""
        graph = self.graph
        return tuple(
            (value, graph.values[value].shape)
            for node in graph.nodes
            if not node.bottoms
            for value in node.tops
        )

    # -- shapes ----------------------------------------------------------------

    def reshape(self, input_shapes: Mapping[str, Shape] | None = None) -> bool:
        """Take on other input shapes; returns whether anything changed.

        Values of Input blobs are kept where their size allows it, as in Caffe, and so
        is what Python may have written to DummyData's.
        """
        merged = dict(self.graph.input_shapes) | dict(input_shapes or {})
        before, kept = self._signature(), self._kept_tops()
        self.graph = reshape_graph(self.graph, merged)
        if self._signature() == before:
            return False
        known = self._plans.get(self._signature())
        if known is not None:
            _, self.program, self._executor = known
        else:
            self.program, self._executor = self._compile(), None
        self._restore_tops(kept)
        return True

    def follow_sources(self, first: bool = True, part: range | None = None) -> None:
        """Between two steps: reshape when the next records have other shapes.

        What was measured makes a new plan before the `first` of the batches whose
        gradients add up: the others' sums lie in the arena of the plan. `part` are the
        numbers of the layers that will run, if not all do.
        """
        if first:
            self._use_measurement()
        nodes = [n for n in self.graph.nodes if part is None or n.index in part]
        # All are asked before any shape is taken on: each may have a new one.
        differing = [node for node in nodes if self._differs(node)]
        if differing:
            self.reshape()

    def _differs(self, node: Node) -> bool:
        """Whether the next records of a source have other shapes than the last."""
        if node.bottoms or node.type == "Input":
            return False
        pending = node.layer.pending_shapes()
        present = [self.graph.values[top].shape for top in node.tops]
        return pending is not None and [tuple(p) for p in pending] != present

    def _kept_tops(self) -> dict[str, Array]:
        if self._executor is None:
            return {}
        return {
            value: self._executor.value(value).copy() for value in kept_tops(self.graph)
        }

    def _restore_tops(self, kept: Mapping[str, Array]) -> None:
        for value, old in kept.items():
            new = self.executor.value(value)
            size = min(new.size, old.size)
            new.reshape(-1)[:size] = old.reshape(-1)[:size]
            self.executor.copy_in(self.program.data[value], new)
        if kept:
            carry_tops(self.graph)

    # -- results ---------------------------------------------------------------

    def loss(self) -> float:
        """The weighted sum of all loss tops, as Net::Forward returns it."""
        total = 0.0
        for node in self.graph.nodes:
            for value, weight in zip(node.tops, node.loss_weights, strict=True):
                if weight:
                    total += weight * float(np.sum(self.executor.value(value)))
        return total

    def outputs(self) -> list[tuple[str, float, Array]]:
        """Blob, loss weight and data of every output."""
        found = []
        for blob in self.graph.outputs:
            value = self.graph.last_value(blob)
            node = self.graph.nodes[value.source]
            weight = node.loss_weights[node.tops.index(value.name)]
            found.append((blob, weight, self.executor.value(value.name)))
        return found

    def node(self, name: str) -> Node:
        """A node by its layer's name."""
        return next(n for n in self.graph.nodes if n.name == name)

    # -- params ----------------------------------------------------------------

    def param(self, key: str) -> Array:
        """A param in its plain shape: the memory itself, or a copy of it."""
        return self.executor.plain(self.program.params[key])

    def set_param(self, key: str, values: Array) -> None:
        """Replace a param's values; `values` has its count of elements."""
        name = self.program.params[key]
        array = self.program.arrays[name]
        assert count(array.shape) == values.size
        self.executor.copy_in(name, values.astype(array.dtype).reshape(array.shape))

    def close(self) -> None:
        """Give back files and threads of the sources."""
        for node in self.graph.nodes:
            node.layer.close()


def kept_tops(graph: Graph) -> list[str]:
    """Values that outlive a plan: inputs, and what DummyData's tops hold for Python."""
    tops = list(graph.inputs)
    for node in graph.nodes:
        layer = node.layer
        if isinstance(layer, DummyData) and layer.keeps_tops and layer.filled:
            tops += node.tops
    return tops


def carry_tops(graph: Graph) -> None:
    """Say that the kept tops have been copied to another plan's arrays."""
    for node in graph.nodes:
        if isinstance(node.layer, DummyData):
            node.layer.carry()


def kept_values(graph: Graph, blobs: Collection[str] = ()) -> frozenset[str]:
    """What must be readable after a step: losses, outputs, and more `blobs`.

    Raises:
        UsageError: the net has no such blob.
    """
    for blob in blobs:
        if blob not in graph.blobs:
            raise UsageError(unknown("blob", blob, graph.blobs))
    losses = {
        value
        for node in graph.nodes
        for value, weight in zip(node.tops, node.loss_weights, strict=True)
        if weight
    }
    wanted = {graph.last_value(b).name for b in (*graph.outputs, *blobs)}
    return frozenset(losses | wanted)
