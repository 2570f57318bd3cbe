"""Which nets a solver names: its training net and its test nets (Caffe's rules)."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import prototxt
from geeps_caffe.config.made_up import MadeUp
from geeps_caffe.config.per_worker import find_file
from geeps_caffe.errors import InputError, UsageError, unknown
from geeps_caffe.graph.build import Source
from geeps_caffe.graph.filter import PHASES, NetState
from geeps_caffe.graph.override import replace_data_layers
from prototxt import Document
from prototxt.embedded import NetField, embedded_net
from prototxt.text import load_text
from prototxt.upgrade import Note, upgrade_net

_TRAINED = ("net", "net_param", "train_net", "train_net_param")


@dataclass(frozen=True)
class NamedNet:
    """A net of a solver and the state in which it is built.

    `notes` is what Caffe logs when it upgrades a net of an older format.
    """

    source: Source
    state: NetState
    warnings: tuple[str, ...] = ()
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True)
class SolverNets:
    """The training net of a solver and its test nets."""

    training: NamedNet
    tests: tuple[NamedNet, ...]

    def remarks(self) -> Iterator[tuple[str, str]]:
        """Severity and text of what there is to say about their files, once each."""
        said: set[str] = set()
        for net in (self.training, *self.tests):
            remarks = [("W", text) for text in net.warnings]
            remarks += [(note.severity, note.text) for note in net.notes]
            for severity, text in remarks:
                if text not in said:
                    said.add(text)
                    yield severity, text


def solver_nets(
    solver: Any,
    solver_path: str,
    stages: NetState,
    document: Document | None = None,
    made_up: MadeUp | None = None,
) -> SolverNets:
    """All nets of a solver; arguments as `training_net` and `without_data`."""
    training = training_net(solver, solver_path, stages, document)
    tests = test_nets(solver, solver_path, document)
    check_records(made_up, (training, *tests))
    return SolverNets(
        without_data(training, made_up),
        tuple(without_data(test, made_up) for test in tests),
    )


def check_records(made_up: MadeUp | None, nets: Iterable[NamedNet]) -> None:
    """Refuse shapes of records for blobs that none of the nets reads from data.

    Raises:
        UsageError: there is such a shape.
    """
    layers = (layer for named in nets for layer in named.source.message.layer)
    tops = {top for layer in layers if not layer.bottom for top in layer.top}
    for blob in made_up.records if made_up else ():
        if blob not in tops:
            known = unknown("top of a data layer", blob, tops)
            raise UsageError(f"-record {blob}=...: {known}")


def without_data(named: NamedNet, made_up: MadeUp | None) -> NamedNet:
    """The net with made-up records in place of its data, where that is asked for.

    Raises:
        GraphError: the shape of a data layer's records is not known.
    """
    if made_up is None:
        return named
    source = replace_data_layers(named.source, named.state, made_up)
    layers = zip(named.source.message.layer, source.message.layer, strict=True)
    replaced = [old.name for old, new in layers if old != new]
    if not replaced:
        return named
    warning = (
        f"{named.state.phase} net: records of {', '.join(map(repr, replaced))} are "
        "made up, as -dummy_data asks; no data are read"
    )
    return replace(named, source=source, warnings=(*named.warnings, warning))


def training_net(
    solver: Any,
    solver_path: str,
    stages: NetState,
    document: Document | None = None,
) -> NamedNet:
    """The net that the solver trains: exactly one of its four fields names it.

    Args:
        solver: the SolverParameter message.
        solver_path: its file.
        stages: level and stages that are given besides those of the files.
        document: the solver as it was read; it knows the lines of a net within.
    """
    field = _net_field(solver, solver_path, document)
    found = _Nets(solver, solver_path, document).net(field)
    found = _in_phase(found, "TRAIN", train_state=solver.train_state)
    state = found.state
    extra = tuple(s for s in stages.stages if s not in state.stages)
    state = NetState("TRAIN", state.level or stages.level, (*state.stages, *extra))
    return replace(found, state=state)


def _net_field(solver: Any, solver_path: str, document: Document | None) -> str:
    """The field that names or holds the net to train.

    Raises:
        InputError: none does, or several.
    """
    given = [name for name in _TRAINED if solver.HasField(name)]
    if len(given) == 1:
        return given[0]
    if not given:
        raise InputError(
            f"{solver_path}: a solver needs exactly one of {', '.join(_TRAINED)}; it "
            'has none of them; add the file of the net, as in net: "train_val.prototxt"'
        )
    lines = [document.line_of(name) if document else 0 for name in given]
    found = [
        name + (f" (line {line})" if line else "")
        for name, line in zip(given, lines, strict=True)
    ]
    raise InputError(
        f"{document.where(given[1]) if document else solver_path}: a solver needs "
        f"exactly one of {', '.join(_TRAINED)}; it has {' and '.join(found)}; keep the "
        "one that is meant and remove the others (test_net and test_net_param are for "
        "nets that are only tested)"
    )


def test_nets(
    solver: Any, solver_path: str, document: Document | None = None
) -> list[NamedNet]:
    """The nets that the solver tests, in the order of test_iter."""
    named: list[tuple[str, int]] = [
        *(("test_net_param", i) for i in range(len(solver.test_net_param))),
        *(("test_net", i) for i in range(len(solver.test_net))),
    ]
    generic = [f for f in ("net_param", "net") if solver.HasField(f)]
    missing = len(solver.test_iter) - len(named)
    if missing < 0 or (missing > 0 and not generic):
        raise InputError(
            f"{solver_path}: {len(solver.test_iter)} test_iter entries for "
            f"{len(named)} test nets; give one test_iter for each test net"
        )
    named += [(generic[0], 0)] * missing if generic else []
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
    nets = _Nets(solver, solver_path, document)
    found = [nets.net(field, index) for field, index in named]
    return [
        _in_phase(net, "TEST", **({"test_state": states[i]} if states else {}))
        for i, net in enumerate(found)
    ]


def _in_phase(net: NamedNet, phase: str, **own: Any) -> NamedNet:
    """The net in a phase, in the NetState of its file and those of its solver.

    Caffe lets these change the phase as well, and then trains without dropout, or tests
    with it; here they do not, and a warning says so.
    """
    state, warnings = NetState(phase), list(net.warnings)
    for field, given in {"state": net.source.message.state, **own}.items():
        level = given.level if given.HasField("level") else state.level
        state = NetState(phase, level, (*state.stages, *given.stage))
        if given.HasField("phase") and PHASES[given.phase] != phase:
            warnings.append(
                f"{phase} net: 'phase: {PHASES[given.phase]}' in its {field} has no "
                "effect; remove it"
            )
    return replace(net, state=state, warnings=tuple(warnings))


@dataclass(frozen=True)
class _Nets:
    """Finds the nets of one solver."""

    solver: Any
    path: str
    document: Document | None

    def net(self, field: str, index: int = 0) -> NamedNet:
        """The net that a field names or holds; its state is still bare."""
        value = getattr(self.solver, field)
        value = value[index] if field.startswith("test_") else value
        if isinstance(value, str):
            if not value.strip():
                where = self.document.where(field) if self.document else self.path
                raise InputError(f"{where}: {field} is {value!r}; give a net's file")
            return _named(_read(value, self.path))
        if self.document is not None:
            kind: NetField = field  # type: ignore[assignment]  # one of the three
            return _named(embedded_net(self.document, kind, index))
        upgraded = upgrade_net(value, self.path)
        return _named(Document(upgraded.message, self.path, notes=upgraded.notes))


def _named(document: Document) -> NamedNet:
    source = Source(document.message, document.path, document.layer_lines)
    return NamedNet(source, NetState(), document.warnings, document.notes)


def _read(path: str, solver_path: str) -> Document:
    """The net in a file.

    Raises:
        PrototxtError: it can't be read.
        InputError: it is not there, but seen from another folder it is.
    """
    found = find_file(path)
    try:
        if found.number is not None:  # a template stands for the workers' files
            text = found.expand(load_text(found.path))
            return prototxt.parse_net(text, str(found.path))
        return prototxt.read_net(str(found.path))
    except prototxt.PrototxtError as error:
        root = _root_of(path, solver_path)
        if Path(path).exists() or root is None:
            raise
        raise InputError(
            f"{error}; it is there seen from {str(root)!r}: run in that folder"
        ) from error


def _root_of(path: str, solver_path: str) -> Path | None:
    """The folder above the solver from which a relative path leads to a file."""
    for folder in Path(solver_path).resolve().parents:
        if not Path(path).is_absolute() and (folder / path).exists():
            return folder
    return None
