"""Weight files (.caffemodel) and single arrays (.binaryproto): reading and writing.

A file is mapped into memory and its fields are walked; only the values that are asked
for are read, and only they are copied. Files of the formats V0 and V1 and files of
more than 2 GB (where protobuf itself stops) are read too.
"""

import mmap
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import BinaryIO, Literal

import numpy as np
import numpy.typing as npt
from google.protobuf.message import DecodeError

from prototxt.blobs import Array, Blob, StoredBlob, index_blob
from prototxt.dialects import detect_dialect, to_schema
from prototxt.encode import (
    Copied,
    Part,
    blob_parts,
    join_parts,
    length_field,
    message_parts,
    size_of,
    write_parts,
)
from prototxt.errors import PrototxtError, did_you_mean
from prototxt.files import (
    HDF5_MAGIC,
    FilePath,
    binary_kind,
    is_text,
    open_file,
    replace_file,
)
from prototxt.schema import LayerParameter, Message, NetParameter, V1LayerParameter
from prototxt.upgrade.v0 import TYPES as V0_TYPES
from prototxt.upgrade.v1 import TYPES as V1_TYPES
from prototxt.wire import LENGTH, Field, Wire

# Field numbers.
_NET_NAME, _NET_LAYERS, _NET_LAYER = 1, 2, 100
_NAME, _TYPE, _BLOBS = 1, 2, 7  # of LayerParameter
_V1_LAYER, _V1_NAME, _V1_TYPE, _V1_BLOBS = 1, 4, 5, 6  # of V1LayerParameter
_V0_NAME, _V0_TYPE, _V0_BLOBS = 1, 2, 50  # of V0LayerParameter


@dataclass(frozen=True)
class WeightsLayer:
    """One layer of a weight file.

    Attributes:
        name: the layer's name.
        type: its type in the current spelling, whatever the file's format.
        blobs: its parameters. In HDF5 files an entry is None where the layer
            shares a parameter that another layer owns.
        format: the format it is stored in.
        offset: where it starts in the file; -1 in HDF5 files.
        dialect: the fork whose field numbers the layer's settings have.
    """

    name: str
    type: str
    blobs: tuple[Blob | None, ...]
    format: Literal["V2", "V1", "V0"]
    offset: int
    dialect: str | None = None
    _content: bytes = b""

    def message(self) -> Message:
        """The layer as the file has it, without its blobs.

        A LayerParameter, or a V1LayerParameter for the formats V1 and V0. In HDF5
        files it has only its name.
        """
        try:
            if self.format != "V2":
                return V1LayerParameter.FromString(self._content)
            content = to_schema(self._content, LayerParameter.DESCRIPTOR, self.dialect)
            return LayerParameter.FromString(content)
        except (DecodeError, PrototxtError) as error:
            raise PrototxtError(
                f"layer {self.name!r} at byte {self.offset}: its settings are damaged"
            ) from error


@dataclass(frozen=True)
class WeightsFile:
    """The content of a weight file.

    Attributes:
        path: the file's name as the user wrote it.
        name: the net's name.
        layers: all layers, also those without parameters, in the file's order.
    """

    path: str
    name: str
    layers: tuple[WeightsLayer, ...]
    _content: bytes = b""

    def layer(self, name: str) -> WeightsLayer:
        """The layer of that name.

        Raises:
            PrototxtError: there is none; the nearest name is offered.
        """
        for layer in self.layers:
            if layer.name == name:
                return layer
        names = [layer.name for layer in self.layers if layer.blobs]
        raise PrototxtError(
            f"no layer {name!r} in the file{did_you_mean(name, names)}", self.path
        )

    def net(self) -> Message:
        """The net without blobs, in the format of the file."""
        net = NetParameter()
        try:
            net.MergeFromString(self._content)
        except DecodeError as error:
            raise PrototxtError("the net's settings are damaged", self.path) from error
        for layer in self.layers:
            target = net.layer if layer.format == "V2" else net.layers
            target.add().CopyFrom(layer.message())
        return net


def map_file(path: FilePath) -> Wire:
    """A file's bytes, mapped into memory."""
    with open_file(path) as file:
        if os.fstat(file.fileno()).st_size == 0:
            raise PrototxtError("the file is empty", os.fspath(path))
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    return Wire(mapped, os.fspath(path))


def read_weights(path: FilePath, dialect: str | None = None) -> WeightsFile:
    """Read a weight file, binary or HDF5; values are copied when asked for.

    Args:
        path: the file.
        dialect: the fork that wrote the layers' settings (see dialects.py); without
            it, it is guessed for each layer. Names and blobs are the same in all.

    Raises:
        PrototxtError: the file is not there, is damaged, or is of another kind.
    """
    wire = map_file(path)
    if wire.buffer[:8] == HDF5_MAGIC:
        from prototxt.hdf5 import read_weights_hdf5  # noqa: PLC0415  h5py is optional

        return read_weights_hdf5(path)
    _check_kind(wire)
    layers, rest, content = [], [], []
    at = 0
    for field in wire.fields():
        if field.number == _NET_LAYER and field.kind == LENGTH:
            layers.append(_layer(wire, field, dialect))
        elif field.number == _NET_LAYERS and field.kind == LENGTH:
            layers.append(_old_layer(wire, field))
        else:
            rest.append(field)
            content.append(bytes(wire.buffer[at : field.end]))
        at = field.end
    settings = to_schema(b"".join(content), NetParameter.DESCRIPTOR, dialect)
    return WeightsFile(wire.path, _text(wire, rest, _NET_NAME), tuple(layers), settings)


def _check_kind(wire: Wire) -> None:
    if is_text(bytes(wire.buffer[:4096])):
        raise PrototxtError(
            "this is a text file (a prototxt?) where weights were expected; "
            "the arguments look swapped",
            wire.path,
        )
    others = {
        "state": "this is a solverstate, not weights; the weights are in the "
        "caffemodel beside it (a solverstate is for resuming)",
        "mean": "this is a single array (a mean file?), not weights",
    }
    kind = binary_kind(wire.buffer, wire.path)
    if kind in others:
        raise PrototxtError(others[kind], wire.path)


def _split(
    wire: Wire, outer: Field, blobs: int
) -> tuple[tuple[StoredBlob, ...], list[Field], bytes]:
    """A layer's blobs, its other fields, and the bytes of those."""
    found, rest, content = [], [], []
    at = outer.start
    for field in wire.fields(outer.start, outer.end):
        if field.number == blobs and field.kind == LENGTH:
            found.append(index_blob(wire, field.start, field.end))
        else:
            rest.append(field)
            content.append(bytes(wire.buffer[at : field.end]))
        at = field.end
    return tuple(found), rest, b"".join(content)


def _layer(wire: Wire, outer: Field, dialect: str | None) -> WeightsLayer:
    blobs, rest, content = _split(wire, outer, _BLOBS)
    type_name = _text(wire, rest, _TYPE)
    return WeightsLayer(
        name=_text(wire, rest, _NAME),
        type=type_name,
        blobs=blobs,
        format="V2",
        offset=outer.start,
        dialect=dialect or detect_dialect(wire, type_name, rest),
        _content=content,
    )


def _old_layer(wire: Wire, outer: Field) -> WeightsLayer:
    blobs, rest, content = _split(wire, outer, _V1_BLOBS)
    for field in rest:
        if field.number == _V1_LAYER and field.kind == LENGTH:
            return _v0_layer(wire, outer, field)
    numbers = V1LayerParameter.DESCRIPTOR.fields_by_name["type"].enum_type
    kind = next((f.value for f in rest if f.number == _V1_TYPE), 0)
    value = numbers.values_by_number.get(kind)
    type_name = V1_TYPES.get(value.name, value.name) if value else str(kind)
    name = _text(wire, rest, _V1_NAME)
    return WeightsLayer(name, type_name, blobs, "V1", outer.start, None, content)


def _v0_layer(wire: Wire, outer: Field, inner: Field) -> WeightsLayer:
    blobs, rest, content = _split(wire, inner, _V0_BLOBS)
    old_type = _text(wire, rest, _V0_TYPE)
    type_name = V1_TYPES.get(V0_TYPES.get(old_type, ""), old_type)
    parts: list[Part] = []
    at = outer.start
    for field in wire.fields(outer.start, outer.end):
        if field.number != _V1_LAYER:
            parts.append(bytes(wire.buffer[at : field.end]))
        at = field.end
    packed = join_parts([*parts, *length_field(_V1_LAYER, [content])])
    name = _text(wire, rest, _V0_NAME)
    return WeightsLayer(name, type_name, blobs, "V0", outer.start, None, packed)


def _text(wire: Wire, fields: Sequence[Field], number: int) -> str:
    return next(
        (wire.text(f) for f in fields if f.number == number and f.kind == LENGTH), ""
    )


def write_weights(
    target: FilePath | BinaryIO,
    net: Message,
    blobs: Mapping[str, Sequence[Array]],
    diffs: Mapping[str, Sequence[Array]] | None = None,
) -> int:
    """Write a weight file as Caffe does: name, layers, and their blobs.

    Args:
        target: a file name (the file is replaced as a whole) or an open file.
        net: the net in the current format; blobs in it are not looked at.
        blobs: the parameters of each layer that has any, by the layer's name.
        diffs: gradients to write beside them (snapshot_diff).

    Returns:
        The size of the file in bytes. From 2 GB on, C++ Caffe cannot read it.
    """
    layers = [
        message_parts(
            _without_blobs(layer),
            _BLOBS,
            [*_blob_entries(layer.name, blobs, diffs)],
        )
        for layer in net.layer
    ]
    return _write(
        target, _net_parts(net.name if net.HasField("name") else None, layers)
    )


def write_copied_weights(
    target: FilePath | BinaryIO, net: Message, blobs: Sequence[Sequence[StoredBlob]]
) -> int:
    """Write a weight file whose blobs are taken as they are from another file.

    Args:
        target: a file name or an open file.
        net: the net in the current format.
        blobs: the blobs of each layer of `net`.

    Returns:
        The size of the file in bytes.
    """
    layers = [
        message_parts(
            _without_blobs(layer),
            _BLOBS,
            [[Copied(blob.wire.buffer, blob.start, blob.end)] for blob in stored],
        )
        for layer, stored in zip(net.layer, blobs, strict=True)
    ]
    rest = NetParameter()
    rest.CopyFrom(net)
    rest.ClearField("layer")
    return _write(target, message_parts(rest, _NET_LAYER, layers))


def _without_blobs(layer: Message) -> Message:
    if not layer.blobs:
        return layer
    shell = LayerParameter()
    for field, value in layer.ListFields():
        if field.name == "blobs":
            continue
        if field.message_type is None and not isinstance(value, (str, int, float)):
            getattr(shell, field.name).extend(value)
        elif field.message_type is None:
            setattr(shell, field.name, value)
        else:
            getattr(shell, field.name).MergeFrom(value)
    return shell


def _blob_entries(
    name: str,
    blobs: Mapping[str, Sequence[Array]],
    diffs: Mapping[str, Sequence[Array]] | None,
) -> Iterator[list[Part]]:
    gradients = (diffs or {}).get(name, ())
    for index, array in enumerate(blobs.get(name, ())):
        diff = gradients[index] if index < len(gradients) else None
        yield blob_parts(array, diff)


def _net_parts(name: str | None, layers: Sequence[list[Part]]) -> list[Part]:
    parts: list[Part] = []
    if name is not None:
        parts += length_field(_NET_NAME, [name.encode()])
    for layer in layers:
        parts += length_field(_NET_LAYER, layer)
    return parts


def _write(target: FilePath | BinaryIO, parts: Sequence[Part]) -> int:
    if isinstance(target, (str, os.PathLike)):
        replace_file(target, lambda file: write_parts(file, parts))
    else:
        write_parts(target, parts)
    return size_of(parts)


def read_blob(path: FilePath) -> npt.NDArray[np.float32]:
    """Read a file with one array: a mean file, or an infogain matrix.

    Returns:
        The array in the shape that the file says; a mean file has (1, C, H, W).
    """
    wire = map_file(path)
    if is_text(bytes(wire.buffer[:4096])):
        text = "this is a text file where an array (.binaryproto) was expected"
        raise PrototxtError(text, wire.path)
    kind = binary_kind(wire.buffer, wire.path)
    if kind in ("weights", "state"):
        text = f"this is a file of {kind} where an array (.binaryproto) was expected"
        raise PrototxtError(text, wire.path)
    return index_blob(wire, 0, len(wire)).array()


def write_blob(target: FilePath | BinaryIO, array: Array, legacy: bool = True) -> int:
    """Write a file with one array, as compute_image_mean does.

    Args:
        target: a file name or an open file.
        array: the values.
        legacy: write a 4-D shape in the old fields, which every Caffe reads.

    Returns:
        The size of the file in bytes.
    """
    return _write(target, blob_parts(array, legacy=legacy))
