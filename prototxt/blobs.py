"""Arrays in binary files: where their values lie, and reading them when asked.

Caffe writes values packed, one run of floats for an array. Files from before 2015
have a tag before each value, and others several runs; all are read.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from prototxt.schema import enum_value
from prototxt.wire import FIXED32, FIXED64, LENGTH, VARINT, Field, Wire, signed

Array: TypeAlias = npt.NDArray[Any]

# Field numbers of BlobProto.
NUM, CHANNELS, HEIGHT, WIDTH, DATA, DIFF, SHAPE, DOUBLE_DATA, DOUBLE_DIFF = range(1, 10)
_RAW_DATA_TYPE, _RAW_DIFF_TYPE, _RAW_DATA, _RAW_DIFF = range(10, 14)

_MOST_AXES = 32  # as in Caffe
_LARGEST = 1 << 60  # product of all sizes that are not 0
_RAW_TYPES = {
    enum_value("Type", "DOUBLE"): "<f8",
    enum_value("Type", "FLOAT"): "<f4",
    enum_value("Type", "FLOAT16"): "<f2",
}
# The fields that may hold the values, and their element type.
_VALUES = {DATA: "<f4", DOUBLE_DATA: "<f8"}
_GRADIENTS = {DIFF: "<f4", DOUBLE_DIFF: "<f8"}


@dataclass(frozen=True)
class _Run:
    """Values that lie together, `step` bytes apart, from `start` to `end`."""

    start: int
    end: int
    dtype: str
    step: int
    skip: int  # bytes before the value in each step

    @property
    def count(self) -> int:
        return (self.end - self.start) // self.step


class Blob(Protocol):
    """An array in a file of any format; its values are read when `array` is called."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes of the axes; () for a single number."""

    @property
    def count(self) -> int:
        """Number of values."""

    def array(self) -> npt.NDArray[np.float32]:
        """A copy of the values, of shape `shape`."""

    def diff(self) -> npt.NDArray[np.float32] | None:
        """A copy of the gradients; None if the file has none."""


@dataclass(frozen=True)
class StoredBlob:
    """An array in a binary file; its values are read when `array` is called.

    Attributes:
        shape: sizes of the axes; () for a single number.
        start: offset of the BlobProto in the file.
        end: offset behind it.
        legacy: whether the shape was given as num, channels, height, width.
    """

    wire: Wire
    shape: tuple[int, ...]
    start: int
    end: int
    legacy: bool
    _data: tuple[_Run, ...]
    _diff: tuple[_Run, ...]

    @property
    def count(self) -> int:
        """Number of values."""
        return prod(self.shape)

    def array(self) -> npt.NDArray[np.float32]:
        """A copy of the values, aligned, of shape `shape`.

        Raises:
            PrototxtError: there are not as many values as the shape says.
        """
        return self._collect(self._data)

    def diff(self) -> npt.NDArray[np.float32] | None:
        """A copy of the gradients; None if the file has none."""
        return self._collect(self._diff) if self._diff else None

    def _collect(self, runs: tuple[_Run, ...]) -> npt.NDArray[np.float32]:
        stored = sum(run.count for run in runs)
        if stored != self.count:
            raise self.wire.fault(
                self.start,
                f"the shape {self.shape} has {self.count} values, "
                f"but {stored} are stored",
            )
        out = np.empty(self.count, "<f4")
        at = 0
        for run in runs:
            _copy(self.wire, run, out[at : at + run.count])
            at += run.count
        return out.astype(np.float32, copy=False).reshape(self.shape)


def _copy(wire: Wire, run: _Run, out: Array) -> None:
    """Copy the values of a run, which lie at any address."""
    raw = np.frombuffer(wire.buffer, np.uint8, run.end - run.start, run.start)
    if run.dtype == "<f4" and run.skip == 0:
        out.view(np.uint8)[...] = raw  # as bytes, since floats must be aligned
        return
    values = np.ascontiguousarray(raw.reshape(-1, run.step)[:, run.skip :])
    out[...] = values.view(run.dtype).reshape(-1)


def index_blob(wire: Wire, start: int, end: int) -> StoredBlob:
    """Find shape and values of the BlobProto that lies from `start` to `end`."""
    legacy: dict[int, int] = {}
    dims: list[int] | None = None
    raw_types: dict[int, int] = {}
    data: list[_Run] = []
    diff: list[_Run] = []
    for field in _blob_fields(wire, start, end, data, diff):
        if field.number <= WIDTH and field.kind == VARINT:
            legacy[field.number] = signed(field.value)
        elif field.number == SHAPE and field.kind == LENGTH:
            dims = (dims or []) + list(_dims(wire, field))
        elif field.number in (_RAW_DATA_TYPE, _RAW_DIFF_TYPE):
            raw_types[field.number] = field.value
        elif field.number == _RAW_DATA:
            data.append(_raw_run(wire, field, raw_types.get(_RAW_DATA_TYPE, 0)))
        elif field.number == _RAW_DIFF:
            diff.append(_raw_run(wire, field, raw_types.get(_RAW_DIFF_TYPE, 0)))
    shape = _shape(legacy, dims, sum(run.count for run in data))
    if wrong := _shape_fault(shape):
        raise wire.fault(start, wrong)
    return StoredBlob(wire, shape, start, end, bool(legacy), tuple(data), tuple(diff))


def _shape(
    legacy: dict[int, int], dims: list[int] | None, count: int
) -> tuple[int, ...]:
    if legacy:
        return tuple(legacy.get(n, 0) for n in (NUM, CHANNELS, HEIGHT, WIDTH))
    if dims is None:  # no shape at all: a flat array, or a single number
        return (count,) if count != 1 else ()
    return tuple(dims)


def _shape_fault(shape: tuple[int, ...]) -> str:
    """What keeps an array from having a shape, or "".

    One that has values is compared with what is stored; an empty one may say anything.
    """
    if len(shape) > _MOST_AXES:
        return f"the shape has {len(shape)} axes; there are {_MOST_AXES} at most"
    if any(dim < 0 for dim in shape):
        return f"the shape {shape} has a negative size"
    if 0 in shape and prod(dim or 1 for dim in shape) > _LARGEST:
        return f"the shape {shape} is larger than any memory"
    return ""


def _dims(wire: Wire, field: Field) -> Iterator[int]:
    for dim in wire.fields(field.start, field.end):
        if dim.kind == VARINT:
            yield signed(dim.value)
        else:
            at = dim.start
            while at < dim.end:
                value, at = wire.varint(at, dim.end)
                yield signed(value)


def _raw_run(wire: Wire, field: Field, kind: int) -> _Run:
    """The bytes of NVCaffe's raw_data, which are of one of several types."""
    dtype = _RAW_TYPES.get(kind)
    if dtype is None:
        raise wire.fault(field.start, f"raw_data of element type {kind} is not known")
    return _packed(wire, field, dtype)


def _packed(wire: Wire, field: Field, dtype: str) -> _Run:
    size = np.dtype(dtype).itemsize
    if (field.end - field.start) % size:
        text = f"{field.end - field.start} bytes are no whole number of {dtype} values"
        raise wire.fault(field.start, text)
    return _Run(field.start, field.end, dtype, size, 0)


def _blob_fields(
    wire: Wire, start: int, end: int, data: list[_Run], diff: list[_Run]
) -> Iterator[Field]:
    """The fields of a BlobProto that hold no values; runs of values are collected."""
    at = start
    while at < end:
        field = next(wire.fields(at, end))
        runs, dtype = data, _VALUES.get(field.number)
        if dtype is None:
            runs, dtype = diff, _GRADIENTS.get(field.number)
        if dtype is None:
            yield field
            at = field.end
        elif field.kind == LENGTH:
            runs.append(_packed(wire, field, dtype))
            at = field.end
        elif field.kind in (FIXED32, FIXED64):
            run = _tagged(wire, at, field, end, dtype)
            runs.append(run)
            at = run.end
        else:
            raise wire.fault(at, "the values are not floats; the file is damaged")


def _tagged(wire: Wire, at: int, first: Field, end: int, dtype: str) -> _Run:
    """The longest run of values that have the same one-byte tag before each."""
    step = first.end - at
    if step != 1 + np.dtype(dtype).itemsize:
        raise wire.fault(at, f"a value of {step - 1} bytes where {dtype} was expected")
    room = (end - at) // step
    raw = np.frombuffer(wire.buffer, np.uint8, room * step, at)
    tags = raw.reshape(room, step)[:, 0]
    other = np.flatnonzero(tags != tags[0])
    count = int(other[0]) if other.size else room
    return _Run(at, at + count * step, dtype, step, 1)
