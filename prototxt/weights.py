"""Weight files (.caffemodel): reading and writing.

A file is mapped into memory and its fields are walked; only the values that are asked
for are read, and only they are copied. Files of the formats V0 and V1 and files of
more than 2 GB (where protobuf itself stops) are read too.
"""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import BinaryIO

from google.protobuf.message import DecodeError

from prototxt.blobs import Array, StoredBlob
from prototxt.dialects import to_schema
from prototxt.encode import (
    Copied,
    Part,
    blob_parts,
    length_field,
    message_parts,
    write_file,
)
from prototxt.errors import PrototxtError, did_you_mean
from prototxt.files import HDF5_MAGIC, FilePath, binary_kind, is_text, map_file
from prototxt.schema import LayerParameter, Message, NetParameter
from prototxt.weights_layer import (
    WeightsLayer,
    first_text,
    read_layer,
    read_old_layer,
)
from prototxt.wire import LENGTH, Wire

__all__ = [
    "WeightsFile",
    "WeightsLayer",
    "read_weights",
    "write_copied_weights",
    "write_weights",
]

# Field numbers.
_NET_NAME, _NET_LAYERS, _NET_LAYER = 1, 2, 100
_BLOBS = 7  # of LayerParameter


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
            layers.append(read_layer(wire, field, dialect))
        elif field.number == _NET_LAYERS and field.kind == LENGTH:
            layers.append(read_old_layer(wire, field))
        else:
            rest.append(field)
            content.append(bytes(wire.buffer[at : field.end]))
        at = field.end
    settings = to_schema(b"".join(content), NetParameter.DESCRIPTOR, dialect)
    return WeightsFile(
        wire.path, first_text(wire, rest, _NET_NAME), tuple(layers), settings
    )


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


def write_weights(
    target: FilePath | BinaryIO,
    net: Message,
    blobs: Sequence[Sequence[Array]],
    diffs: Sequence[Sequence[Array]] | None = None,
) -> int:
    """Write a weight file as Caffe does: name, layers, and their blobs.

    Args:
        target: a file name (the file is replaced as a whole) or an open file.
        net: the net in the current format; blobs in it are not looked at.
        blobs: the parameters of each layer of `net`, in its order.
        diffs: gradients to write beside them (snapshot_diff), in the same form.

    Returns:
        The size of the file in bytes. From 2 GB on, C++ Caffe cannot read it.
    """
    beside = [()] * len(blobs) if diffs is None else diffs
    layers = [
        message_parts(
            _without_blobs(layer),
            _BLOBS,
            [*map(blob_parts, arrays, _padded(gradients))],
        )
        for layer, arrays, gradients in zip(net.layer, blobs, beside, strict=True)
    ]
    return write_file(
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
    return write_file(target, message_parts(rest, _NET_LAYER, layers))


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


def _padded(gradients: Sequence[Array]) -> Iterator[Array | None]:
    """Gradients, then as many None as are asked for."""
    return itertools.chain(gradients, itertools.repeat(None))


def _net_parts(name: str | None, layers: Sequence[list[Part]]) -> list[Part]:
    parts: list[Part] = []
    if name is not None:
        parts += length_field(_NET_NAME, [name.encode()])
    for layer in layers:
        parts += length_field(_NET_LAYER, layer)
    return parts
