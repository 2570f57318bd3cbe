"""Plans of nets that are not run: graphs and programs, no arrays."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import prototxt
from geeps_caffe.config.job import RunSettings
from geeps_caffe.config.made_up import MadeUp
from geeps_caffe.config.units import parse_amount
from geeps_caffe.device.array import aligned
from geeps_caffe.engines.table import engine_of
from geeps_caffe.errors import UsageError
from geeps_caffe.execution.grouping import assign_tables
from geeps_caffe.execution.net import PlannedNet, kept_values
from geeps_caffe.execution.nets import NamedNet, check_records, without_data
from geeps_caffe.execution.nets import solver_nets as named_nets
from geeps_caffe.execution.plans import plan_net, planning_of
from geeps_caffe.execution.surroundings import updates_by_rows
from geeps_caffe.graph.build import Source, build_graph
from geeps_caffe.graph.filter import NetState
from geeps_caffe.layers.base import Setting
from geeps_caffe.layers.source import SourceLayer
from geeps_caffe.net_lines import state_message
from geeps_caffe.schedule.plan import Plan
from geeps_caffe.schedule.program import Options
from prototxt import Message

GPU = "cuda"  # the engine whose arrays are a GPU's


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
        engine_of(settings),
        options,
        table_of=table_of,
    )
    try:
        yield net
    finally:
        net.close()


def plan_of(net: PlannedNet, settings: RunSettings) -> Plan:
    """The plan that the net would be bound to."""
    return plan_net(net.program, net.graph, planning_of(settings))


def with_budget(
    solver: Message, path: str, settings: RunSettings, memory: str
) -> RunSettings:
    """The settings with -memory in bytes; a share is one of all arrays side by side.

    On a GPU the pictures that wait there, beside what is planned, are a part of it.

    Raises:
        UsageError: no more than these pictures have room in it.
    """
    if not memory:
        return settings
    amount, whole, staged = parse_amount(memory), 0, 0
    if amount.share is not None or settings.engine == GPU:
        for _, net in solver_nets(solver, path, settings):
            staged += staged_bytes(net)
            if amount.share is not None:
                whole += plan_of(net, settings).total_bytes
    left = amount.of(whole + staged) - staged
    if left <= 0:
        raise UsageError(
            f"-memory is {memory}, but {staged:,} bytes are for pictures that wait on "
            "the GPU; give more, or make the batches smaller"
        )
    return replace(settings, memory=left, staged=staged)


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
    bodies = solver.iter_size
    by_rows = updates_by_rows(solver, settings)
    with unbound_net(
        nets.training, settings, trains=True, bodies=bodies, by_rows=by_rows
    ) as net:
        yield f"Training net {net.graph.name!r} of {path}", net
    for index, named in enumerate(nets.tests):
        with unbound_net(named, settings) as net:
            yield f"Test net #{index} of {path}", net


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
