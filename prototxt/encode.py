"""Messages and arrays to bytes, without holding a whole file in memory.

What is written is a row of parts of known size; sizes come first in protobuf, so they
are added up before anything is written.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import BinaryIO, TypeAlias

import numpy as np

from prototxt import blobs
from prototxt.blobs import Array
from prototxt.files import FilePath, replace_file
from prototxt.schema import Message
from prototxt.wire import LENGTH, VARINT, Buffer, Wire

_CHUNK = 1 << 24  # bytes written at once


@dataclass(frozen=True)
class Values:
    """The values of an array, written as little-endian numbers of `dtype`."""

    array: Array
    dtype: str

    @property
    def nbytes(self) -> int:
        """Bytes in the file."""
        return int(self.array.size) * np.dtype(self.dtype).itemsize

    def write(self, file: BinaryIO) -> None:
        """Write them, converting a piece at a time if they must be."""
        flat = np.ascontiguousarray(self.array).reshape(-1)
        step = _CHUNK // np.dtype(self.dtype).itemsize
        for at in range(0, flat.size, step):
            file.write(flat[at : at + step].astype(self.dtype, copy=False).data)


@dataclass(frozen=True)
class Copied:
    """Bytes of another file, from `start` to `end`."""

    buffer: Buffer
    start: int
    end: int

    @property
    def nbytes(self) -> int:
        """Bytes in the file."""
        return self.end - self.start

    def write(self, file: BinaryIO) -> None:
        """Write them, a piece at a time."""
        for at in range(self.start, self.end, _CHUNK):
            file.write(self.buffer[at : min(at + _CHUNK, self.end)])


Part: TypeAlias = bytes | Values | Copied


def size_of(parts: Sequence[Part]) -> int:
    """Bytes of the parts together."""
    return sum(len(p) if isinstance(p, bytes) else p.nbytes for p in parts)


def write_parts(file: BinaryIO, parts: Sequence[Part]) -> None:
    """Write the parts one after the other."""
    for part in parts:
        if isinstance(part, bytes):
            file.write(part)
        else:
            part.write(file)


def write_file(target: FilePath | BinaryIO, parts: Sequence[Part]) -> int:
    """Write the parts to an open file, or replace a file by them.

    Returns:
        Bytes written.
    """
    if isinstance(target, (str, os.PathLike)):
        replace_file(target, lambda file: write_parts(file, parts))
    else:
        write_parts(target, parts)
    return size_of(parts)


def join_parts(parts: Sequence[Part]) -> bytes:
    """The parts as one piece of bytes."""
    file = BytesIO()
    write_parts(file, parts)
    return file.getvalue()


def varint(value: int) -> bytes:
    """A number as protobuf writes it; negative ones take ten bytes.

    >>> varint(300)
    b'\\xac\\x02'
    """
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def number_field(number: int, value: int) -> bytes:
    """A field that holds a whole number."""
    return varint(number << 3 | VARINT) + varint(value)


def length_field(number: int, parts: Sequence[Part]) -> list[Part]:
    """A field that holds the parts: a string, a message or packed values."""
    head = varint(number << 3 | LENGTH) + varint(size_of(parts))
    return [head, *parts]


def blob_parts(
    array: Array, diff: Array | None = None, legacy: bool = False
) -> list[Part]:
    """A BlobProto: values in double precision if the array is, else in single.

    Args:
        array: the values; the shape is the array's.
        diff: gradients to write beside them.
        legacy: write a 4-D shape as num, channels, height, width, as
            compute_image_mean does.
    """
    double = array.dtype == np.float64
    fields: dict[int, list[Part]] = {}
    for value, single, twice in (
        (array, blobs.DATA, blobs.DOUBLE_DATA),
        (diff, blobs.DIFF, blobs.DOUBLE_DIFF),
    ):
        if value is not None and value.size:
            number = twice if double else single
            values = Values(value, "<f8" if double else "<f4")
            fields[number] = length_field(number, [values])
    if legacy and array.ndim == 4:
        for number, dim in enumerate(array.shape, blobs.NUM):
            fields[number] = [number_field(number, dim)]
    else:
        fields[blobs.SHAPE] = length_field(blobs.SHAPE, _shape_parts(array.shape))
    return [part for number in sorted(fields) for part in fields[number]]


def _shape_parts(shape: tuple[int, ...]) -> list[Part]:
    dims = b"".join(varint(dim) for dim in shape)
    return length_field(1, [dims]) if dims else []


def message_parts(
    message: Message, number: int, inner: Sequence[Sequence[Part]]
) -> list[Part]:
    """A message whose repeated field `number` has the given entries.

    The field is empty in `message` itself. Fields are written in the order of their
    numbers, as C++ does, so a file of ours equals Caffe's byte for byte.
    """
    content = message.SerializeToString()
    pieces: list[tuple[int, list[Part]]] = []
    at = 0
    for field in Wire(content, "").fields():
        pieces.append((field.number, [content[at : field.end]]))
        at = field.end
    pieces += [(number, length_field(number, entry)) for entry in inner]
    pieces.sort(key=lambda piece: piece[0])
    return [part for _, parts in pieces for part in parts]
