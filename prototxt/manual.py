"""The reference manual: what each message and field means, as caffe.proto says it.

The meanings are the comments of caffe.proto, so they stand in one place. They are
read when somebody asks.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from prototxt.schema import PROTO_FILE, Message

_OPEN = re.compile(r"(?:message|enum) (\w+) \{$")
_FIELD = re.compile(
    r"(?:(?P<label>optional|required|repeated) (?P<type>[\w.]+) )?(?P<name>\w+) = \d+"
    r"(?: \[(?P<options>[^]]*)\])?;(?:  // (?P<comment>.*))?$"
)
_FORKS = re.compile(r"\s*\[([\w, ]+)\]$")
_DEFAULT = re.compile(r"default = (.*)")
_FORKS_HEADING = "Fields of forks."


@dataclass(frozen=True)
class FieldEntry:
    """A field, or a value of an enum.

    Attributes:
        name: its name.
        type: such as "uint32" or "FillerParameter"; "" for an enum's value.
        label: optional, required or repeated; "" for an enum's value.
        default: as it is written in a prototxt; "" if there is none.
        meaning: one line.
        forks: the forks that have it; empty for a field of Caffe's.
    """

    name: str
    type: str
    label: str
    default: str
    meaning: str
    forks: tuple[str, ...]


@dataclass(frozen=True)
class MessageEntry:
    """A message or an enum, with its fields or values in the order of caffe.proto."""

    name: str
    meaning: str
    forks: tuple[str, ...]
    fields: tuple[FieldEntry, ...]

    def field(self, name: str) -> FieldEntry | None:
        """The field of that name, if there is one."""
        return next((f for f in self.fields if f.name == name), None)


@cache
def manual() -> dict[str, MessageEntry]:
    """All messages and enums, by names such as "PoolingParameter.PoolMethod"."""
    entries: dict[str, tuple[str, list[FieldEntry]]] = {}
    inside: list[str] = []
    comment = ""
    for line in PROTO_FILE.read_text("utf-8").splitlines():
        text = line.strip()
        if text.startswith("//"):
            above = text.removeprefix("//").strip()
            comment = "" if above == _FORKS_HEADING else above
        elif opened := _OPEN.match(text):
            inside.append(opened[1])
            entries[".".join(inside)] = (comment, [])
            comment = ""
        elif text == "}":
            inside.pop()
        elif field := _FIELD.match(text):
            entries[".".join(inside)][1].append(_field(field, comment))
            comment = ""
    return {name: _message(name, *entry) for name, entry in entries.items()}


def _field(match: re.Match[str], above: str) -> FieldEntry:
    meaning, forks = _split_forks(match["comment"] or above)
    default = _DEFAULT.search(match["options"] or "")
    return FieldEntry(
        name=match["name"],
        type=match["type"] or "",
        label=match["label"] or "",
        default=default[1] if default else "",
        meaning=meaning,
        forks=forks,
    )


def _message(name: str, comment: str, fields: list[FieldEntry]) -> MessageEntry:
    meaning, forks = _split_forks(comment)
    return MessageEntry(name, meaning, forks, tuple(fields))


def _split_forks(comment: str) -> tuple[str, tuple[str, ...]]:
    found = _FORKS.search(comment)
    if not found:
        return comment, ()
    return comment[: found.start()], tuple(found[1].split(", "))


def forks_of(message: str, field: str) -> tuple[str, ...]:
    """The forks that a field comes from; empty if it is Caffe's own.

    >>> forks_of("TransformationParameter", "resize_param")
    ('ssd', 'nvcaffe', 'intel')
    """
    entry = manual()[message]
    found = entry.field(field)
    return (found.forks if found else ()) or entry.forks


def fork_fields(message: Message, path: str = "") -> Iterator[tuple[str, str]]:
    """Fields that are set in a message and are not Caffe's own.

    Yields:
        The dotted path of each, and the forks that have it: ("transform_param.flow",
        "geeps, lisa, intel"). What is inside a fork's field is not looked at.
    """
    name = str(message.DESCRIPTOR.full_name).removeprefix("caffe.")
    for field, value in message.ListFields():
        inner = f"{path}.{field.name}" if path else field.name
        forks = forks_of(name, field.name)
        if forks:
            yield inner, ", ".join(forks)
        elif field.message_type is not None:
            for entry in [value] if hasattr(value, "ListFields") else value:
                yield from fork_fields(entry, inner)
