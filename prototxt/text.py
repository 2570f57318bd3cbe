"""Prototxt files: text to messages and back, every fault with its place.

`read_net` and `read_solver` are what users' files go through. They bring old formats
to the current one and return a Document, which knows the line of everything.
"""

import os
from dataclasses import dataclass, replace

from prototxt.document import Document
from prototxt.errors import PrototxtError
from prototxt.files import (
    HDF5_MAGIC,
    FilePath,
    binary_kind,
    decode,
    is_text,
    read_bytes,
    refuse_foreign,
)
from prototxt.foreign import HEAD
from prototxt.mixed import mixed_formats
from prototxt.parse import Parsed, parse
from prototxt.schema import MessageClass, NetParameter, SolverParameter
from prototxt.source import Source
from prototxt.unheeded import unheeded_of_net, unheeded_of_solver
from prototxt.upgrade import INPUT_LAYER, Upgraded, canonical_type, upgrade_net
from prototxt.upgrade.inputs import refuse_shapeless_inputs
from prototxt.upgrade.solver import upgrade_solver
from prototxt.upgrade.transforms import FIELDS
from prototxt.write import write_text

__all__ = [
    "parse_mixed_net",
    "parse_net",
    "parse_solver",
    "parse_text",
    "read_net",
    "read_solver",
    "read_text",
    "write_text",
]


def read_net(path: FilePath) -> Document:
    """Read a net from a prototxt file, in the current format whatever it was in.

    Raises:
        PrototxtError: the file is not there, is not a net, has unknown fields (all
            are listed), or mixes layers of the old and the current format.
    """
    return parse_net(load_text(path), os.fspath(path))


def read_solver(path: FilePath) -> Document:
    """Read a solver from a prototxt file; faults as `read_net`."""
    return parse_solver(load_text(path), os.fspath(path))


def read_text(path: FilePath, cls: MessageClass) -> Document:
    """Read any message from a text file as it stands, without upgrades."""
    return parse_text(load_text(path), cls, os.fspath(path))


def parse_text(text: str, cls: MessageClass, name: str = "<text>") -> Document:
    """Read any message from a text as it stands, without upgrades."""
    source = Source(text, name)
    parsed = parse(source, cls)
    return _document(source, parsed)


def parse_net(text: str, name: str = "<text>") -> Document:
    """Read a net from a text; `name` stands for it in messages."""
    source = Source(text, name)
    parsed = parse(source, NetParameter)
    document = _document(source, parsed)
    net = document.message
    if len(net.layer) > 0 and len(net.layers) > 0:
        raise _mixed(source, parsed)
    try:
        refuse_shapeless_inputs(net)
        upgraded = upgrade_net(net, name)
    except PrototxtError as error:
        raise _placed(error, source, parsed, "input", "layers") from error
    document = _upgraded(document, upgraded)
    return document.with_warnings(
        *_ignored_transforms(document), *unheeded_of_net(document)
    )


def parse_mixed_net(text: str, name: str = "<text>") -> Upgraded:
    """Read a net as it stands; one that mixes formats has old layers brought up.

    Their place among the others is that in the text.
    """
    parsed = parse(Source(text, name), NetParameter)
    net = parsed.message
    if len(net.layer) == 0 or len(net.layers) == 0:
        return Upgraded(net, (), (), complete=True)
    old = upgrade_net(NetParameter(layers=net.layers), name)
    current = {"layer": net.layer, "layers": old.message.layer}
    ordered = [current[entry.field][entry.index] for entry in _entries(parsed)]
    new = NetParameter()
    new.CopyFrom(net)
    new.ClearField("layers")
    new.ClearField("layer")
    new.layer.extend(ordered)
    return replace(old, message=new)


def parse_solver(text: str, name: str = "<text>") -> Document:
    """Read a solver from a text; `name` stands for it in messages."""
    source = Source(text, name)
    parsed = parse(source, SolverParameter)
    document = _document(source, parsed)
    try:
        message, notes = upgrade_solver(document.message, name)
    except PrototxtError as error:
        raise _placed(error, source, parsed, "solver_type") from error
    if message.HasField("type"):
        message.type = canonical_type(message.type)
    document = replace(
        document, message=message, notes=tuple(notes), layer_lines=(), entries=()
    )
    return document.with_warnings(*unheeded_of_solver(document))


def load_text(path: FilePath) -> str:
    """The text of a prototxt file.

    Raises:
        PrototxtError: the file is not there, is another program's, or is binary; it
            says of what kind.
    """
    content = read_bytes(path)
    refuse_foreign(content[:HEAD], path)
    if not is_text(content[:65536]):
        raise PrototxtError(_not_text(content, os.fspath(path)), os.fspath(path))
    return decode(content)


def _not_text(content: bytes, path: str) -> str:
    if content.startswith(HDF5_MAGIC):
        return "this is a binary HDF5 file where text was expected; " + _SWAPPED
    names = {
        "weights": "a binary caffemodel (net weights)",
        "state": "a binary solverstate",
        "mean": "a binary mean file (BlobProto)",
    }
    name = names.get(binary_kind(content, path), "a binary file")
    return f"this is {name} where a prototxt was expected; {_SWAPPED}"


_SWAPPED = "the arguments look swapped"


@dataclass(frozen=True)
class _Entry:
    """A layer entry in the text: which field it is, its index there, its place."""

    field: str
    index: int
    offset: int


def _entries(parsed: Parsed) -> list[_Entry]:
    """The layer entries of both formats in the order of the text."""
    found = [
        _Entry(field, index, offset)
        for field in ("layer", "layers")
        for index, offset in enumerate(parsed.places.get((-1, field), ()))
    ]
    return sorted(found, key=lambda entry: entry.offset)


def _document(source: Source, parsed: Parsed) -> Document:
    lines = {
        key: [source.line(offset) for offset in offsets]
        for key, offsets in parsed.places.items()
    }
    entries = _entries(parsed)
    return Document(
        message=parsed.message,
        path=source.name,
        layer_lines=tuple(source.line(entry.offset) for entry in entries),
        warnings=parsed.warnings,
        lines=lines,
        entries=tuple(range(len(entries))),
    )


def _upgraded(document: Document, upgraded: Upgraded) -> Document:
    """The document with the upgraded message, and the lines that belong to it."""
    input_line = document.line_of("input")
    lines = tuple(
        input_line if i == INPUT_LAYER else document.layer_lines[i]
        for i in upgraded.sources
    )
    return replace(
        document,
        message=upgraded.message,
        layer_lines=lines,
        notes=upgraded.notes,
        entries=upgraded.sources,
    )


def _ignored_transforms(document: Document) -> list[str]:
    """Warn of transformations in the place where Caffe does not look any more."""
    blocks = ("data_param", "image_data_param", "window_data_param")
    return [
        f"{document.where(f'{block}.{name}', index)}: layer '{layer.name}': "
        f"{block}.{name} has no effect in this format; use transform_param.{name}"
        for index, layer in enumerate(document.message.layer)
        for block in blocks
        if layer.HasField(block)
        for name in FIELDS
        if getattr(layer, block).HasField(name)
    ]


def _placed(
    error: PrototxtError, source: Source, parsed: Parsed, *fields: str
) -> PrototxtError:
    """An upgrade's fault, at the first of the fields that is in the text."""
    for field in fields:
        places = parsed.places.get((-1, field))
        if places:
            fault = source.fault(places[0], error.faults[0].text)
            return PrototxtError(fault, source.name)
    return error


def _mixed(source: Source, parsed: Parsed) -> PrototxtError:
    """The error of a net with layers of both formats: one of each, and the way out."""
    old = next(e for e in _entries(parsed) if e.field == "layers")
    new = next(e for e in _entries(parsed) if e.field == "layer")
    fault = mixed_formats(
        parsed.message.layer[new.index],
        source.line(new.offset),
        parsed.message.layers[old.index],
        source.line(old.offset),
        "'geeps-caffe upgrade_net_proto_text OLD NEW' rewrites the file",
    )
    return PrototxtError(fault, source.name)
