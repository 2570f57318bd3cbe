"""What surrounds a run: the store behind its client, its memory, its seed."""

import time
from dataclasses import replace
from typing import Any

from geeps_caffe.config.job import RunSettings
from geeps_caffe.config.param_cache import ParamCache
from geeps_caffe.engines.engine import Engine
from geeps_caffe.errors import UsageError
from geeps_caffe.execution.memory import TurnArena
from geeps_caffe.execution.net import Limits
from geeps_caffe.execution.others import Exchange
from geeps_caffe.execution.plans import MEASURED, model_of
from geeps_caffe.paramserver import Client, LocalStore
from geeps_caffe.paramserver.on_device import DeviceTables

GPU = "cuda"  # the engine whose arrays are a GPU's


def with_reach(settings: RunSettings, engine: Engine, *, shared: bool) -> RunSettings:
    """A GPU can't reach tables that workers share, so it has a cache of them.

    So it has where the worker itself runs the rule: that is done on the host.
    """
    reached = not (shared or settings.update == "worker")
    if reached or settings.param_cache is not None or engine.name != GPU:
        return settings
    return replace(settings, param_cache=ParamCache())


def own_client(settings: RunSettings, engine: Engine) -> Client:
    """A client on a store of this process: on the device, or with a cache there."""
    tables = None
    if engine.updates is not None and settings.param_cache is None:
        tables = DeviceTables(engine.device, engine.updates)
    return Client(LocalStore(engine.bind_momentum, tables), settings.overlap)


def updates_by_rows(solver: Any, settings: RunSettings) -> bool:
    """Whether a single process may apply updates while gradients are made.

    Not where someone sees gradients (Python, debug_info), where several are added up,
    or where their norm is needed first.
    """
    watched = settings.keep_all or solver.debug_info
    whole = solver.iter_size > 1 or solver.clip_gradients >= 0
    elsewhere = settings.ranks > 1 or settings.param_cache is not None
    return settings.update == "shard" and not (watched or whole or elsewhere)


def limits_of(settings: RunSettings, engine: Engine) -> Limits:
    """The memory that the nets of a run may use; under a budget they take turns."""
    turns = TurnArena(settings.memory, engine.device) if settings.memory else None
    return Limits(
        settings.memory,
        settings.share,
        settings.poison,
        turns,
        model_of(settings),
        settings.recompute,
        settings.warning_level,
        settings.costs == MEASURED,
        settings.graphs,
    )


def exchange_of(client: Client, settings: RunSettings) -> Exchange | None:
    """How this worker's layers meet the others'; None where there are none."""
    if settings.ranks == 1:
        return None
    if settings.slack and settings.batchnorm == "sync":
        raise UsageError(
            "-batchnorm sync makes all workers meet in every layer, so none can be "
            "ahead; give -slack 0"
        )
    return Exchange(client, waits=settings.slack == 0)


def run_seed(solver: Any, settings: RunSettings, client: Client) -> int:
    """The seed of the run: given, the solver's random_seed, or from rank 0's clock."""
    if settings.seed is not None:
        return settings.seed
    if solver.random_seed >= 0:
        return int(solver.random_seed)
    mine = time.time_ns() & 0x7FFFFFFF if settings.rank == 0 else 0
    return int(client.total([mine])[0])
