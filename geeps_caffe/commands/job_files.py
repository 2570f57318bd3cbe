"""The files of a job that all hosts must have alike, and their digests."""

import hashlib
import json
import sys
from collections.abc import Iterator
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

import prototxt
from geeps_caffe.config.file_list import files_in
from geeps_caffe.config.per_worker import FoundFile, find_file
from geeps_caffe.execution.snapshot import read_position
from prototxt import Document, PrototxtError

_NETS = ("net", "train_net", "test_net")  # fields of a solver
_INLINE = ("net_param", "train_net_param", "test_net_param")
_SHOWN = 16  # digits of a digest


def has_own_files(document: Document, worker: int) -> bool:
    """Whether the solver or a net of it was made for one worker."""
    template = document.path.endswith(".template")
    return template or any(found.own for _, found in _files(document, worker))


def _files(document: Document, worker: int | None) -> Iterator[tuple[str, FoundFile]]:
    """The solver's file and its nets', each with what it is."""
    yield "solver", find_file(document.path, worker)
    for field in _NETS:
        for name in _texts(getattr(document.message, field)):
            yield f"{field} {name}", find_file(name, worker)


def _texts(value: Any) -> list[str]:
    """What a field holds, once or several times."""
    return [text for text in ([value] if isinstance(value, str) else value) if text]


def file_digests(document: Document) -> Iterator[tuple[str, str]]:
    """What each file is, and its digest: of solver, nets, and what nets compute with.

    Those are means, infogain matrices and the modules of Python layers. Data and lists
    of it are not read here, since paths in a list may be a host's own.
    """
    nets = [(net, document.path) for net in _inline_nets(document.message)]
    for what, found in _files(document, None):
        if not found.path.is_file():
            continue
        yield what, _digest(found.path)
        if what != "solver":
            nets += [(net, str(found.path)) for net in _read(found.path)]
    for net, path in nets:
        for what, file in _named(net, Path(path).absolute().parent):
            if file.is_file():
                yield what, _digest(file)


def _inline_nets(solver: Any) -> Iterator[Any]:
    for field in _INLINE:
        value = getattr(solver, field)
        if field != "test_net_param":
            value = [value] if solver.HasField(field) else []
        yield from value


def _read(path: Path) -> list[Any]:
    try:
        return [prototxt.read_net(str(path)).message]
    except PrototxtError:
        return []  # the workers say so


def _named(net: Any, folder: Path) -> Iterator[tuple[str, Path]]:
    """The files that layers of a net compute with."""
    for layer in net.layer:
        if layer.transform_param.mean_file:
            mean = layer.transform_param.mean_file
            yield f"mean_file {mean}", Path(mean)
        if layer.infogain_loss_param.source:
            matrix = layer.infogain_loss_param.source
            yield f"infogain matrix {matrix}", Path(matrix)
        if layer.python_param.module:
            module = layer.python_param.module
            file = _module_file(module, folder)
            if file is not None:
                yield f"Python module {module}", file


def _module_file(name: str, folder: Path) -> Path | None:
    """Where Python would find a module, or the layer beside the net; not imported."""
    places, spec = [*sys.path, str(folder)], None
    for part in name.split("."):
        spec = PathFinder.find_spec(part, places)
        if spec is None:
            return None
        places = list(spec.submodule_search_locations or ())
    return Path(spec.origin) if spec is not None and spec.origin else None


def weights_digests(document: Document) -> str:
    """Of the files of weights to begin with, in their order."""
    names = [n for given in document.message.weights for n in files_in(given)]
    return ", ".join(_digest(Path(name)) for name in names) or "none"


def state_digest(path: str, *, with_data: bool) -> str:
    """Where a run goes on: the iteration, and what records are to come."""
    if not path:
        return "none"
    text = f"of iteration {prototxt.read_state(path).iter}"
    if not with_data:
        return text
    position = read_position(path)
    if position is None:
        return f"{text}, without the .position of its data"
    digest = hashlib.sha256(json.dumps(position, sort_keys=True).encode()).hexdigest()
    return f"{text}, its .position {digest[:_SHOWN]}"


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:_SHOWN]
