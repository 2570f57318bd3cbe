"""Datum, the record of Caffe's databases: a reader of its wire format, and a writer.

The reader copies no pixels: they stay a view of the database's memory.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from geeps_caffe.data.database import Record
from geeps_caffe.device.array import Array, Shape
from prototxt.schema import Datum as DatumMessage

_CHANNELS, _HEIGHT, _WIDTH, _DATA, _LABEL, _FLOATS, _ENCODED = range(1, 8)
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_FLOAT_TAG = _FLOATS << 3 | _FIXED32

_BYTE = np.dtype(np.uint8)
_TAIL = 32  # bytes after the pixels that are looked up and not read
_LABELS = 4096  # how many of them are kept


@dataclass(slots=True)
class Datum:
    """One record; `pixels` is uint8 or float32 (C, H, W), or None if encoded."""

    label: int
    pixels: Array | None
    encoded: Record | None = None  # the bytes of an image file


class DatumReader:
    """Reads records; safe from several threads.

    It remembers the head of the last one, which seldom changes, and labels that
    have followed pixels.
    """

    def __init__(self) -> None:
        self._last = _Head(b"\0", (0, 0, 0), 0)  # bytes that begin no record
        self._labels: dict[bytes, int] = {}  # by the bytes after the pixels

    def read(self, record: Record) -> Datum:
        """The record's content.

        Raises:
            ValueError: it is no Datum, or its pixels do not fill its shape.
        """
        head, shape, end = self._last
        start = len(head)
        if record[:start] == head and len(record) >= end:
            label = self._labels.get(bytes(record[end : end + _TAIL + 1]))
            if label is None:
                label = self._label(memoryview(record)[end:])
            if label is not None:
                return Datum(label, np.ndarray(shape, np.uint8, record, start))
        return self._read(memoryview(record))

    def read_alike(
        self, records: Sequence[Record]
    ) -> tuple[list[Array], list[int]] | None:
        """The pixels and labels of records that are like the last one.

        None unless all have its head, and nothing but a label after the pixels.
        """
        head, shape, end = self._last
        start = len(head)
        heads = b"".join([record[:start] for record in records])
        if heads != head * len(records) or min(map(len, records)) < end:
            return None
        labels: list[int] = []
        for record in records:
            label = self._labels.get(bytes(record[end : end + _TAIL + 1]))
            if label is None:
                label = self._label(memoryview(record)[end:])
            if label is None:
                return None
            labels.append(label)
        return [np.ndarray(shape, _BYTE, record, start) for record in records], labels

    def _label(self, tail: memoryview) -> int | None:
        """The label in what follows the pixels; None where there is more in it."""
        fields = _Fields(tail)
        if fields.encoded or fields.data is not None or fields.floats:
            return None
        if len(tail) <= _TAIL and len(self._labels) < _LABELS:
            self._labels[bytes(tail)] = fields.label
        return fields.label

    def _read(self, record: memoryview) -> Datum:
        fields = _Fields(record)
        if fields.encoded:
            if fields.data is None:
                raise ValueError("the datum is marked as encoded and has no data")
            return Datum(fields.label, None, fields.data)
        shape = (fields.channels, fields.height, fields.width)
        if fields.data is not None and len(fields.data):
            pixels: Array = np.frombuffer(fields.data, np.uint8)
        elif fields.floats:
            pixels = np.concatenate(fields.floats)
        else:
            raise ValueError(_EMPTY if len(record) else "the record is empty")
        if pixels.size != shape[0] * shape[1] * shape[2]:
            raise ValueError(
                f"the datum has {pixels.size} values, but its shape {shape} "
                f"needs {shape[0] * shape[1] * shape[2]}{_encoded_hint(pixels)}"
            )
        self._remember(record, fields, shape)
        return Datum(fields.label, pixels.reshape(shape))

    def _remember(self, record: memoryview, fields: "_Fields", shape: Shape) -> None:
        """Keep the head, where the pixels come after shape and before the label."""
        if fields.shape_first and fields.data is not None and not fields.floats:
            head = bytes(record[: fields.data_start])
            self._last = _Head(head, shape, len(head) + len(fields.data))


class _Head(NamedTuple):
    """What records have in common: the bytes before the pixels say all of it."""

    head: bytes
    shape: Shape
    end: int  # where the pixels end


_EMPTY = (
    "the datum holds neither data nor float_data; is the database one of Datum "
    "records, as convert_imageset writes them?"
)


class _Fields:
    """The fields of one datum as they stand in the wire format."""

    __slots__ = (
        "channels",
        "data",
        "data_start",
        "encoded",
        "floats",
        "height",
        "label",
        "shape_first",
        "width",
    )

    def __init__(self, record: memoryview) -> None:
        self.channels = self.height = self.width = self.label = 0
        self.encoded = False
        self.data: memoryview | None = None
        self.data_start = 0
        self.shape_first = False
        self.floats: list[Array] = []
        at = 0
        try:
            while at < len(record):
                at = self._field(record, at)
        except IndexError:
            raise ValueError("the record is cut off, or is no Datum") from None

    def _field(self, record: memoryview, at: int) -> int:
        tag, at = _varint(record, at)
        field, wire = tag >> 3, tag & 7
        if wire == _VARINT:
            value, at = _varint(record, at)
            self._number(field, value)
            return at
        if wire == _BYTES:
            size, at = _varint(record, at)
            if at + size > len(record):
                raise IndexError
            self._bytes(field, record[at : at + size], at)
            return at + size
        if tag == _FLOAT_TAG:
            return self._float_run(record, at)
        if wire in (_FIXED32, _FIXED64):
            return at + (4 if wire == _FIXED32 else 8)
        raise ValueError(f"the record is no Datum: it has a field of wire type {wire}")

    def _number(self, field: int, value: int) -> None:
        if field == _LABEL:
            self.label = value - (1 << 64) if value >> 63 else value
        elif field == _CHANNELS:
            self.channels = value
        elif field == _HEIGHT:
            self.height = value
        elif field == _WIDTH:
            self.width = value
        elif field == _ENCODED:
            self.encoded = bool(value)

    def _bytes(self, field: int, value: memoryview, at: int) -> None:
        if field == _DATA:
            self.data, self.data_start = value, at
            self.shape_first = bool(self.channels and self.height and self.width)
        elif field == _FLOATS:
            self.floats.append(np.frombuffer(value, "<f4"))
        elif field == _CHANNELS:
            raise ValueError(
                "the record is an AnnotatedDatum (of SSD), not a Datum; it is read by "
                'a layer of type "AnnotatedData"'
            )

    def _float_run(self, record: memoryview, at: int) -> int:
        """Floats one by one, each behind its tag: read all that follow at once."""
        pairs = np.frombuffer(record[at - 1 :], np.uint8)
        pairs = pairs[: len(pairs) // 5 * 5].reshape(-1, 5)
        others = np.flatnonzero(pairs[:, 0] != _FLOAT_TAG)
        run = pairs[: others[0]] if len(others) else pairs
        if not len(run):
            raise IndexError
        self.floats.append(np.ascontiguousarray(run[:, 1:]).view("<f4").ravel())
        return at - 1 + 5 * len(run)


def _varint(record: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = record[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
        if shift > 63:
            raise ValueError("the record is no Datum: a number has over 64 bits")


def _encoded_hint(pixels: Array) -> str:
    head = bytes(pixels[:4])
    if head[:3] == b"\xff\xd8\xff" or head == b"\x89PNG":
        return "; the data is an image file, so `encoded` should be true"
    return ""


def layout_hint(shape: Shape) -> str:
    """A guess, for messages, that a record was written as (H, W, C).

    >>> layout_hint((224, 224, 3))
    '; the record looks as if it was written as (H, W, C); Caffe needs (C, H, W)'
    """
    channels, height, width = shape
    if width in (1, 3, 4) and min(channels, height) > 2 * width:
        return (
            "; the record looks as if it was written as (H, W, C); "
            "Caffe needs (C, H, W)"
        )
    return ""


def write_datum(pixels: Array, label: int, *, mark: bool = False) -> bytes:
    """A record of uint8 pixels (C, H, W); `mark` says in it that it is not encoded.

    (Caffe's image converter marks its records, the MNIST and CIFAR ones do not.)
    """
    channels, height, width = pixels.shape
    datum = DatumMessage(channels=channels, height=height, width=width, label=label)
    datum.data = pixels.tobytes()
    if mark:
        datum.encoded = False
    record: bytes = datum.SerializeToString(deterministic=True)
    return record


def write_floats(values: Array) -> bytes:
    """A record of float values (C, H, W), without a label."""
    channels, height, width = values.shape
    datum = DatumMessage(channels=channels, height=height, width=width)
    datum.float_data.extend(values.reshape(-1).tolist())
    record: bytes = datum.SerializeToString(deterministic=True)
    return record


def write_encoded(file: bytes, label: int) -> bytes:
    """A record of the bytes of an image file."""
    datum = DatumMessage(data=file, label=label, encoded=True)
    record: bytes = datum.SerializeToString(deterministic=True)
    return record
