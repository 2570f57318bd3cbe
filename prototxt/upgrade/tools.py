"""What Caffe's upgrade tools do: a file in, an upgraded file out, notes for the log.

Each function returns what the tool logs and whether it succeeded; the file is written
in any case, as Caffe's tools do.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass

from prototxt.blobs import StoredBlob
from prototxt.encode import write_parts
from prototxt.errors import PrototxtError
from prototxt.files import FilePath, replace_file
from prototxt.schema import Message, SolverParameter
from prototxt.text import load_text, parse_mixed_net, parse_text
from prototxt.upgrade import (
    Note,
    Upgraded,
    needs_net_upgrade,
    needs_solver_upgrade,
    upgrade_net,
    upgrade_solver,
)
from prototxt.weights import WeightsFile, read_weights, write_copied_weights
from prototxt.write import write_text


@dataclass(frozen=True)
class Outcome:
    """What a tool did.

    Attributes:
        notes: its log messages.
        complete: False if something of the old file could not be kept; the tools of
            Caffe then end with exit code 1.
    """

    notes: tuple[Note, ...]
    complete: bool


def upgrade_net_text(source: FilePath, target: FilePath) -> Outcome:
    """Bring a net's prototxt to the current format.

    A net that mixes layers of the old and the current format, which Caffe refuses, is
    put in order: its layers stay in the order of the text.
    """
    name = os.fspath(source)
    mixed = parse_mixed_net(load_text(source), name)
    net, notes, complete = _upgrade(mixed.message, name)
    if mixed.notes:
        further = notes if net is not mixed.message else ()
        notes, complete = [*_all_notes(mixed), *further], complete and mixed.complete
    _write_text(target, net)
    return _wrote(notes, complete, "NetParameter text", target)


def upgrade_solver_text(source: FilePath, target: FilePath) -> Outcome:
    """Bring a solver's prototxt to the current format."""
    name = os.fspath(source)
    solver = parse_text(load_text(source), SolverParameter, name).message
    if needs_solver_upgrade(solver):
        solver, notes = upgrade_solver(solver, name)
    else:
        notes = [_latest(name)]
    _write_text(target, solver)
    return _wrote(notes, True, "SolverParameter text", target)


def upgrade_net_binary(source: FilePath, target: FilePath) -> Outcome:
    """Bring a weight file to the current format; its arrays are copied as they are."""
    weights = read_weights(source)
    net = weights.net()
    if len(net.layer) > 0 and len(net.layers) > 0:
        raise PrototxtError("the file mixes layers of two formats", weights.path)
    upgraded, notes, complete = _upgrade(net, weights.path)
    sources = _sources(net, weights.path)
    write_copied_weights(target, upgraded, [_blobs(weights, i) for i in sources])
    return _wrote(notes, complete, "NetParameter binary", target)


def _sources(net: Message, name: str) -> Sequence[int]:
    if needs_net_upgrade(net):
        return upgrade_net(net, name).sources
    return range(len(net.layer))


def _blobs(weights: WeightsFile, index: int) -> list[StoredBlob]:
    """The blobs of an old layer; none of an Input layer that was added."""
    layer_blobs = weights.layers[index].blobs if index >= 0 else ()
    return [blob for blob in layer_blobs if isinstance(blob, StoredBlob)]


def _upgrade(net: Message, name: str) -> tuple[Message, list[Note], bool]:
    if not needs_net_upgrade(net):
        return net, [_latest(name)], True
    upgraded = upgrade_net(net, name)
    return upgraded.message, _all_notes(upgraded), upgraded.complete


def _all_notes(upgraded: Upgraded) -> list[Note]:
    """Its notes, and in the end whether something was lost."""
    notes = list(upgraded.notes)
    if not upgraded.complete:
        text = "Encountered error(s) while upgrading prototxt; see details above."
        notes.append(Note("E", text))
    return notes


def _latest(name: str) -> Note:
    return Note("E", f"File already in latest proto format: {name}")


def _wrote(
    notes: Sequence[Note], complete: bool, what: str, target: FilePath
) -> Outcome:
    text = f"Wrote upgraded {what} proto to {os.fspath(target)}"
    return Outcome((*notes, Note("I", text)), complete)


def _write_text(target: FilePath, message: Message) -> None:
    content = write_text(message).encode()
    replace_file(target, lambda file: write_parts(file, [content]))
