"""Messages to text, as protobuf's C++ library writes them (DebugString).

Caffe logs messages in this form and its tools write files in it. The Python library
writes floats in another way (1.0 for 1, 100000000.0 for 1e+08), hence this file.
"""

from collections.abc import Iterator
from functools import cache
from struct import pack, unpack
from typing import Any

from google.protobuf.descriptor import FieldDescriptor

from prototxt.schema import Message, repeated_fields


def write_text(message: Message) -> str:
    """The message in protobuf's text format: fields by number, two blanks a level."""
    return "".join(f"{line}\n" for line in _lines(message, ""))


def _lines(message: Message, indent: str) -> Iterator[str]:
    repeated = repeated_fields(message.DESCRIPTOR)
    for field, value in message.ListFields():
        name = f"{indent}{field.name}"
        for entry in value if field.name in repeated else (value,):
            if field.message_type is None:
                yield f"{name}: {_show(field, entry)}"
            else:
                yield f"{name} {{"
                yield from _lines(entry, indent + "  ")
                yield f"{indent}}}"


def _show(field: FieldDescriptor, value: Any) -> str:
    kind = field.type
    if kind in (FieldDescriptor.TYPE_STRING, FieldDescriptor.TYPE_BYTES):
        return f'"{escape(value)}"'
    if kind == FieldDescriptor.TYPE_BOOL:
        return "true" if value else "false"
    if kind == FieldDescriptor.TYPE_FLOAT:
        return show_float(value)
    if kind == FieldDescriptor.TYPE_DOUBLE:
        return _show_double(value)
    if field.enum_type is not None:
        named = field.enum_type.values_by_number.get(value)
        return named.name if named else str(value)
    return str(value)


def show_float(value: float) -> str:
    """A float32 as C++ protobuf shows it: 6 digits if they suffice, else 9.

    >>> show_float(0.05), show_float(1e-05), show_float(16777217 / 3)
    ('0.05', '1e-05', '5592405.5')
    """
    single = unpack("<f", pack("<f", value))[0] if abs(value) < 3.5e38 else value
    short = f"{single:.6g}"
    if single != single or unpack("<f", pack("<f", float(short)))[0] == single:
        return short
    return f"{single:.9g}"


def _show_double(value: float) -> str:
    short = f"{value:.15g}"
    return short if value != value or float(short) == value else f"{value:.17g}"


@cache
def _escapes() -> tuple[str, ...]:
    special = {9: "\\t", 10: "\\n", 13: "\\r", 34: '\\"', 39: "\\'", 92: "\\\\"}
    return tuple(
        special.get(code) or (chr(code) if 32 <= code < 127 else f"\\{code:03o}")
        for code in range(256)
    )


def escape(value: str | bytes) -> str:
    """A string's bytes as they stand between quotes; beyond ASCII in octal."""
    raw = value.encode("utf-8", "surrogateescape") if isinstance(value, str) else value
    table = _escapes()
    return "".join([table[code] for code in raw])
