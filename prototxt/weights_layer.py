"""One layer of a weight file, in the current format, V1 or V0.

The blobs are indexed, the settings beside them are kept as bytes until somebody asks.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from google.protobuf.message import DecodeError

from prototxt.blobs import Blob, StoredBlob, index_blob
from prototxt.dialects import detect_dialect, to_schema
from prototxt.encode import Part, join_parts, length_field
from prototxt.errors import PrototxtError
from prototxt.schema import LayerParameter, Message, V1LayerParameter
from prototxt.upgrade.v0 import TYPES as V0_TYPES
from prototxt.upgrade.v1 import TYPES as V1_TYPES
from prototxt.wire import LENGTH, Field, Wire

# Field numbers.
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

    @property
    def in_hdf5(self) -> bool:
        """Whether it is of an HDF5 file, where blobs of other layers are left out."""
        return self.offset < 0

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


def read_layer(wire: Wire, outer: Field, dialect: str | None) -> WeightsLayer:
    """The layer in the current format that is the payload of `outer`."""
    blobs, rest, content = _split(wire, outer, _BLOBS)
    type_name = first_text(wire, rest, _TYPE)
    return WeightsLayer(
        name=first_text(wire, rest, _NAME),
        type=type_name,
        blobs=blobs,
        format="V2",
        offset=outer.start,
        dialect=dialect or detect_dialect(wire, type_name, rest),
        _content=content,
    )


def read_old_layer(wire: Wire, outer: Field) -> WeightsLayer:
    """The layer in V1 or V0 that is the payload of `outer`."""
    blobs, rest, content = _split(wire, outer, _V1_BLOBS)
    for field in rest:
        if field.number == _V1_LAYER and field.kind == LENGTH:
            return _v0_layer(wire, outer, field)
    numbers = V1LayerParameter.DESCRIPTOR.fields_by_name["type"].enum_type
    kind = next((f.value for f in rest if f.number == _V1_TYPE), 0)
    value = numbers.values_by_number.get(kind)
    type_name = V1_TYPES.get(value.name, value.name) if value else str(kind)
    name = first_text(wire, rest, _V1_NAME)
    return WeightsLayer(name, type_name, blobs, "V1", outer.start, None, content)


def _v0_layer(wire: Wire, outer: Field, inner: Field) -> WeightsLayer:
    blobs, rest, content = _split(wire, inner, _V0_BLOBS)
    old_type = first_text(wire, rest, _V0_TYPE)
    type_name = V1_TYPES.get(V0_TYPES.get(old_type, ""), old_type)
    parts: list[Part] = []
    at = outer.start
    for field in wire.fields(outer.start, outer.end):
        if field.number != _V1_LAYER:
            parts.append(bytes(wire.buffer[at : field.end]))
        at = field.end
    packed = join_parts([*parts, *length_field(_V1_LAYER, [content])])
    name = first_text(wire, rest, _V0_NAME)
    return WeightsLayer(name, type_name, blobs, "V0", outer.start, None, packed)


def first_text(wire: Wire, fields: Sequence[Field], number: int) -> str:
    """The first string of that number; "" if there is none."""
    return next(
        (wire.text(f) for f in fields if f.number == number and f.kind == LENGTH), ""
    )
