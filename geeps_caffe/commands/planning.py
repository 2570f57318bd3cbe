"""Plans of nets that are not run: graphs and programs, no arrays."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import prototxt
from geeps_caffe.commands.gpus import gpu_of, planned_gpus
from geeps_caffe.commands.line_settings import run_settings, set_train_state
from geeps_caffe.config.flags import CommandLine
from geeps_caffe.config.job import RunSettings
from geeps_caffe.config.made_up import MadeUp
from geeps_caffe.config.units import parse_amount
from geeps_caffe.device.array import aligned
from geeps_caffe.engines.engine import Layout
from geeps_caffe.engines.table import engine_of
from geeps_caffe.errors import BudgetError
from geeps_caffe.execution.grouping import assign_tables
from geeps_caffe.execution.job_nets import lent_layouts, table_layouts
from geeps_caffe.execution.net import PlannedNet, kept_values
from geeps_caffe.execution.nets import NamedNet, check_records, without_data
from geeps_caffe.execution.nets import solver_nets as named_nets
from geeps_caffe.execution.plans import plan_net, planning_of
from geeps_caffe.execution.surroundings import GPU, updates_by_rows, with_reach
from geeps_caffe.graph.build import Source, build_graph
from geeps_caffe.graph.filter import NetState
from geeps_caffe.graph.graph import Graph
from geeps_caffe.layers.base import Setting
from geeps_caffe.layers.source import SourceLayer
from geeps_caffe.net_lines import state_message
from geeps_caffe.schedule.passes import NAMES as PASSES
from geeps_caffe.schedule.plan import Plan, least_of
from geeps_caffe.schedule.program import Options
from prototxt import Message


def planned_settings(line: CommandLine, solver: Message | None = None) -> RunSettings:
    """How the first worker of a run with these flags would run.

    Of a machine with the GPUs that the flags name; without a solver it runs alone.
    """
    if solver is None:
        return run_settings(line, gpus=planned_gpus(line))
    gpus = planned_gpus(line, gpu_of(solver))
    asked = "workers" in line.given or not gpus
    workers = line.integer("workers") if asked else len(gpus)
    return run_settings(line, 0, workers, gpus)


def flagged_solver(line: CommandLine) -> Message:
    """The solver, for the level and the stages that flags name."""
    solver = prototxt.read_solver(line.text("solver")).message
    set_train_state(solver, line)
    return solver


@contextmanager
def unbound_net(
    named: NamedNet,
    settings: RunSettings,
    *,
    backward: bool = False,
    trains: bool = False,
    bodies: int = 1,
    by_rows: bool = False,
    keep: Sequence[str] = (),
    trained: PlannedNet | None = None,
) -> Iterator[PlannedNet]:
    """A net that is compiled and not bound yet.

    Args:
        named: the net and its state.
        settings: how it would run.
        backward: with a backward pass, where any layer has one.
        trains: with tables and updates.
        bodies: batches whose gradients are added up (iter_size).
        by_rows: as of `updates_by_rows`.
        keep: blobs that are to be read, besides losses and outputs.
        trained: the training net on whose params this one is to run.
    """
    setting = Setting(
        rank=settings.rank,
        ranks=settings.ranks,
        global_batch=settings.batch_mode == "global",
        seed=settings.seed or 1,
    )
    graph = build_graph(named.source, named.state, setting)
    table_of = assign_tables(graph, settings.grouping) if trains else {}
    if settings.param_cache is not None and table_of:
        settings.param_cache.check(table_of.values())
    options = Options(
        settings.dtype,
        backward=(backward or trains)
        and any(node.needs_backward for node in graph.nodes),
        accumulate=bodies > 1,
        keep=kept_values(graph, keep),
        by_rows=by_rows,
        param_cache=settings.param_cache,
        without=frozenset(settings.without),
    )
    net = PlannedNet(
        graph,
        trained.engine if trained else engine_of(settings),
        options,
        layouts=_layouts(graph, settings, trained) if trains or trained else {},
        table_of=table_of,
    )
    try:
        yield net
    finally:
        net.close()


def _layouts(
    graph: Graph, settings: RunSettings, trained: PlannedNet | None
) -> dict[str, Layout]:
    if trained is None:
        return table_layouts(graph, settings)
    return lent_layouts(graph, trained)


def plan_of(net: PlannedNet, settings: RunSettings) -> Plan:
    """The plan that the net would be bound to."""
    return plan_net(net.program, net.graph, planning_of(settings))


def with_budget(
    nets: Iterable[PlannedNet], settings: RunSettings, memory: str
) -> RunSettings:
    """The settings with -memory in bytes; a share is one of all arrays side by side.

    On a GPU the pictures that wait there, beside what is planned, are a part of it.

    Args:
        nets: all of a job, compiled.
        settings: without a budget.
        memory: the flag's value.

    Raises:
        BudgetError: no more than these pictures have room in it.
    """
    if not memory:
        return settings
    amount, whole, staged, least = parse_amount(memory), 0, 0, 0
    if amount.share is not None or settings.engine == GPU:
        for net in nets:
            staged += staged_bytes(net)
            least = max(least, least_of(net.program))
            if amount.share is not None:
                whole += plan_of(net, settings).total_bytes
    budget = amount.of(whole + staged)
    if staged and budget <= staged:
        reason = f"{staged:,} bytes are for pictures that wait on the GPU"
        raise BudgetError(budget, reason, least + staged)
    return replace(settings, memory=budget - staged, staged=staged)


def on_gpu(net: PlannedNet) -> bool:
    """Whether a net's arrays are a GPU's."""
    return net.engine.name == GPU


def staged_bytes(net: PlannedNet) -> int:
    """Bytes of pictures that wait on a GPU beside what a net's plan places there."""
    layers = (node.layer for node in net.graph.nodes)
    tops = ([net.graph.values[t].shape for t in n.tops] for n in net.graph.nodes)
    return sum(
        aligned(layer.packed_bytes(shapes))
        for layer, shapes in zip(layers, tops, strict=True)
        if isinstance(layer, SourceLayer) and on_gpu(net)
    )


def solver_nets(
    solver: Message, path: str, settings: RunSettings
) -> Iterator[tuple[str, PlannedNet]]:
    """The nets of a solver, compiled one after the other, with a title for each."""
    nets = named_nets(solver, path, NetState(), made_up=settings.made_up)
    settings = as_run(solver, settings)
    bodies = solver.iter_size
    by_rows = updates_by_rows(solver, settings)
    with unbound_net(
        nets.training, settings, trains=True, bodies=bodies, by_rows=by_rows
    ) as trained:
        yield f"Training net {trained.graph.name!r} of {path}", trained
    for index, named in enumerate(nets.tests):
        with unbound_net(named, settings, trained=trained) as net:
            yield f"Test net #{index} of {path}", net


def as_run(solver: Message, settings: RunSettings) -> RunSettings:
    """The settings as a run of the solver changes them."""
    engine, shared = engine_of(settings), settings.ranks > 1
    settings = with_reach(settings, engine, shared=shared)
    return replace(settings, without=PASSES) if solver.debug_info else settings


def read_model(
    path: str,
    phase: str,
    level: int,
    stages: tuple[str, ...],
    made_up: MadeUp | None = None,
) -> tuple[Message, NamedNet]:
    """The state Caffe gives a net of its own, and the net as it is built."""
    document = prototxt.read_net(path)
    state = state_message(phase, document.message.state)
    state.phase = ("TRAIN", "TEST").index(phase)
    state.level = level
    state.stage.extend(stages)
    source = Source(document.message, document.path, document.layer_lines)
    held = NetState(phase, level, tuple(state.stage))
    named = NamedNet(source, held, document.warnings, document.notes)
    check_records(made_up, [named])
    return state, without_data(named, made_up)
