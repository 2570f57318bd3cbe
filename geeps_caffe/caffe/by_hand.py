"""The plan of a net that Python drives."""

import logging
from collections.abc import Mapping
from typing import Any

from geeps_caffe.caffe.mode import MODE
from geeps_caffe.engines.table import open_engine
from geeps_caffe.execution.net import PlannedNet
from geeps_caffe.graph.build import Source, build_graph
from geeps_caffe.graph.filter import NetState
from geeps_caffe.graph.remarks import log_remarks
from geeps_caffe.layers.base import Setting
from geeps_caffe.schedule.program import Options

_LOG = logging.getLogger(__name__)


def plan_by_hand(
    document: Any,
    state: NetState,
    engine: str | None = None,
    dtype: str | None = None,
    table_of: Mapping[str, str] | None = None,
) -> PlannedNet:
    """A net whose every blob stays readable and whose gradients add up."""
    for warning in document.warnings:
        _LOG.warning("%s", warning)
    message = document.message
    if message.HasField("state"):  # Caffe merges the net's own state in
        own = message.state
        state = NetState(
            state.phase,
            state.level or own.level,
            tuple(dict.fromkeys((*own.stage, *state.stages))),
        )
    source = Source(message, document.path, document.layer_lines)
    seed = MODE.seed if MODE.seed is not None else 1
    kind = dtype or MODE.dtype
    graph = build_graph(source, state, Setting(seed=seed, dtype=kind))
    log_remarks(graph)
    backward = any(node.needs_backward for node in graph.nodes)
    options = Options(kind, backward, keep_all=True, accumulate=True)
    opened = open_engine(engine or MODE.chosen, MODE.threads, gpu=MODE.device)
    return PlannedNet(graph, opened, options, seed=seed, table_of=table_of or {})
