"""Which nets a solver names: its training net and its test nets (Caffe's rules)."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import prototxt
from geeps_caffe.errors import InputError
from geeps_caffe.graph.build import Source
from geeps_caffe.graph.filter import NetState


@dataclass(frozen=True)
class NamedNet:
    """A net of a solver and the state in which it is built."""

    source: Source
    state: NetState
    warnings: tuple[str, ...] = ()


def training_net(solver: Any, solver_path: str, stages: NetState) -> NamedNet:
    """The net that the solver trains: exactly one of its four fields names it."""
    fields = ("net", "net_param", "train_net", "train_net_param")
    given = [name for name in fields if solver.HasField(name)]
    if len(given) != 1:
        found = " and ".join(given) if given else "none of them"
        raise InputError(
            f"{solver_path}: a solver needs exactly one of {', '.join(fields)}; it has "
            f"{found}"
        )
    value = getattr(solver, given[0])
    source, warnings = _source(value, solver_path)
    state = merged(NetState("TRAIN"), source.message.state)
    state = merged(state, solver.train_state)
    extra = tuple(s for s in stages.stages if s not in state.stages)
    state = NetState("TRAIN", state.level or stages.level, (*state.stages, *extra))
    return NamedNet(source, state, warnings)


def test_nets(solver: Any, solver_path: str) -> list[NamedNet]:
    """The nets that the solver tests, in the order of test_iter."""
    named: list[Any] = [*solver.test_net_param, *solver.test_net]
    generic = [f for f in ("net_param", "net") if solver.HasField(f)]
    missing = len(solver.test_iter) - len(named)
    if missing < 0 or (missing > 0 and not generic):
        raise InputError(
            f"{solver_path}: {len(solver.test_iter)} test_iter entries for "
            f"{len(named)} test nets; give one test_iter for each test net"
        )
    named += [getattr(solver, generic[0])] * missing if generic else []
    states = list(solver.test_state)
    if states and len(states) != len(named):
        raise InputError(
            f"{solver_path}: {len(states)} test_state entries for {len(named)} test "
            "nets; give one for each or none"
        )
    if named and solver.test_interval <= 0:
        raise InputError(
            f"{solver_path}: test_interval is {solver.test_interval}, but there are "
            "test nets; give a test_interval above 0 or leave test_iter out"
        )
    found = []
    for i, value in enumerate(named):
        source, warnings = _source(value, solver_path)
        state = merged(NetState("TEST"), source.message.state)
        if states:
            state = merged(state, states[i])
        found.append(NamedNet(source, state, warnings))
    return found


def merged(state: NetState, own: Any) -> NetState:
    """A state with a NetState message merged in; the phase stays."""
    level = own.level if own.HasField("level") else state.level
    return NetState(state.phase, level, (*state.stages, *own.stage))


def _source(value: Any, solver_path: str) -> tuple[Source, tuple[str, ...]]:
    if not isinstance(value, str):  # a net written inside the solver
        return Source(value, solver_path), ()
    try:
        document = prototxt.read_net(value)
    except prototxt.PrototxtError as error:
        root = _root_of(value, solver_path)
        if Path(value).exists() or root is None:
            raise
        raise InputError(
            f"{error}; it is there seen from {str(root)!r}: run in that folder"
        ) from error
    source = Source(document.message, document.path, document.layer_lines)
    return source, document.warnings


def _root_of(path: str, solver_path: str) -> Path | None:
    """The folder above the solver from which a relative path leads to a file."""
    for folder in Path(solver_path).resolve().parents:
        if not Path(path).is_absolute() and (folder / path).exists():
            return folder
    return None
