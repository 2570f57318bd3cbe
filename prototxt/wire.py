"""The bytes of protobuf messages: walking over fields without copying them.

Only what is asked for is read, so a file of gigabytes is indexed in well under a
millisecond per hundred layers.
"""

from collections.abc import Iterator
from mmap import mmap
from typing import NamedTuple, TypeAlias

from prototxt.errors import PrototxtError

Buffer: TypeAlias = bytes | mmap | memoryview

VARINT, FIXED64, LENGTH, START_GROUP, END_GROUP, FIXED32 = range(6)
_FIXED = {FIXED64: 8, FIXED32: 4}


class Field(NamedTuple):
    """One field of a message, as it lies in the file.

    Attributes:
        number: its field number.
        kind: VARINT, FIXED32, FIXED64 or LENGTH.
        value: the number of a VARINT, else 0.
        start: offset of the payload.
        end: offset behind the payload.
    """

    number: int
    kind: int
    value: int
    start: int
    end: int


class Wire:
    """A file's bytes, and its name for messages."""

    def __init__(self, buffer: Buffer, path: str) -> None:
        """Walk over `buffer`, the content of the file `path`."""
        self.buffer = buffer
        self.path = path

    def __len__(self) -> int:
        """Number of bytes."""
        return len(self.buffer)

    def fault(self, offset: int, text: str) -> PrototxtError:
        """The exception for a fault at an offset."""
        return PrototxtError(text, self.path, offset)

    def varint(self, at: int, end: int) -> tuple[int, int]:
        """The number at an offset, and the offset behind it."""
        value = shift = 0
        for position in range(at, min(end, at + 10)):
            byte = self.buffer[position]
            value |= (byte & 127) << shift
            if byte < 128:
                return value, position + 1
            shift += 7
        if at + 10 <= end:
            raise self.fault(at, "a number of more than 10 bytes; not a Caffe file")
        raise self.fault(at, "the file ends within a number; it is cut off")

    def fields(self, start: int = 0, end: int | None = None) -> Iterator[Field]:
        """The fields of the message that lies from `start` to `end`."""
        end = len(self.buffer) if end is None else end
        at = start
        while at < end:
            tag, after = self.varint(at, end)
            field = self._field(tag, at, after, end)
            yield field
            at = field.end

    def _field(self, tag: int, at: int, after: int, end: int) -> Field:
        number, kind = tag >> 3, tag & 7
        if number == 0:
            raise self.fault(
                at, "field number 0; the file is damaged or of another kind"
            )
        if kind == VARINT:
            value, stop = self.varint(after, end)
            return Field(number, kind, value, after, stop)
        if kind == LENGTH:
            size, first = self.varint(after, end)
        elif kind in _FIXED:
            size, first = _FIXED[kind], after
        else:
            raise self.fault(
                at, f"wire type {kind}; the file is damaged or of another kind"
            )
        if first + size > end:
            raise self.fault(
                at,
                f"field {number} says it has {size} bytes, but only {end - first} "
                "are left; the file is cut off or damaged",
            )
        return Field(number, kind, 0, first, first + size)

    def bytes(self, field: Field) -> bytes:
        """The payload of a field, copied."""
        return bytes(self.buffer[field.start : field.end])

    def text(self, field: Field) -> str:
        """The payload of a string field."""
        return self.bytes(field).decode("utf-8", "replace")


def signed(value: int) -> int:
    """A varint as the negative number that it may stand for (int32, int64)."""
    return value - (1 << 64) if value >> 63 else value
