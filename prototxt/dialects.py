"""Binary files of Caffe's forks: field numbers that mean something else there.

In text, fields go by name and one schema reads all forks. In binary, a fork's number
may belong to another field of Caffe's; the tables say which field of our schema a
fork's number means. Names and blobs of layers have the same numbers in all forks, so
weights need no dialect; only the settings beside them do.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor

from prototxt.encode import varint
from prototxt.errors import PrototxtError, did_you_mean
from prototxt.wire import LENGTH, VARINT, Field, Wire

# Fork: message (or enum): number there: number in our schema. Numbers not named here
# are the same.
# fmt: off
DIALECTS: dict[str, dict[str, dict[int, int]]] = {
    "geeps": {"LayerParameter": {145: 146}},
    "lisa": {
        "LayerParameter": {132: 137, 134: 146},
        "TransformationParameter": {6: 8},
    },
    "ssd": {
        "SolverParameter": {41: 10001, 42: 10002},
        "TransformationParameter": {8: 10001},
    },
    "segnet": {
        "DropoutParameter": {2: 10001},
        "LayerParameter": {137: 10010, 138: 10009},
        "LossParameter": {3: 10002, 4: 10003},
    },
    "nvcaffe": {
        "ImageDataParameter": {13: 10001, 14: 10002},
        "LayerParameter": {145: 10001, 146: 10002, 147: 10003, 148: 10004, 151: 146},
        "SolverParameter": {
            41: 10003, 42: 10004, 43: 10005, 44: 10006,
            241: 10001, 242: 10002, 243: 43, 244: 44,
        },
        "TransformationParameter": {
            8: 10007, 9: 10008, 10: 10002, 11: 10003, 12: 10004, 13: 10005, 14: 10006,
            208: 10001, 209: 9, 210: 10, 211: 11, 212: 12, 213: 13, 214: 14,
        },
    },
    "intel": {
        "BatchNormParameter": {4: 15, 5: 10001, 6: 10002, 7: 10003, 8: 6},
        "ConvolutionParameter": {19: 10001, 20: 10002},
        "DataParameter": {11: 14, 12: 10001},
        "EltwiseParameter": {4: 10001},
        "LayerParameter": {148: 10006, 149: 10007, 150: 10008, 152: 10005},
        "LossParameter": {4: 10001, 5: 4},
        "LossParameter.NormalizationMode": {3: 10001, 4: 3},
        "NetParameter": {11: 10001},
        "PoolingParameter": {13: 10001},
        "SolverParameter": {
            41: 10001, 42: 10002, 43: 44, 44: 43, 46: 10007, 47: 10008,
            48: 10009, 49: 10010, 50: 10011, 51: 10012, 52: 10013,
        },
        "TransformationParameter": {
            8: 10001, 15: 10009, 16: 10010, 17: 8, 18: 10011, 19: 10012,
        },
    },
}
# fmt: on


def to_schema(content: bytes, message: Descriptor, dialect: str | None) -> bytes:
    """Bytes of a fork's message, renumbered so that our schema reads them.

    Raises:
        PrototxtError: there is no such dialect; the known ones are listed.
    """
    if dialect is None:
        return content
    if dialect not in DIALECTS:
        raise PrototxtError(
            f"unknown dialect {dialect!r}{did_you_mean(dialect, DIALECTS)} "
            f"(known: {', '.join(DIALECTS)})"
        )
    return _renumber(content, message, DIALECTS[dialect])


def _renumber(
    content: bytes, message: Descriptor, table: dict[str, dict[int, int]]
) -> bytes:
    numbers = table.get(_local_name(message), {})
    wire = Wire(content, "")
    out = []
    at = 0
    for field in wire.fields():
        number = numbers.get(field.number, field.number)
        known = message.fields_by_number.get(number)
        if known is not None:
            out.append(_field(wire, field, known, table))
        else:
            out.append(content[at : field.end])
        at = field.end
    return b"".join(out)


def _field(
    wire: Wire, field: Field, known: FieldDescriptor, table: dict[str, dict[int, int]]
) -> bytes:
    tag = varint(known.number << 3 | field.kind)
    if field.kind == LENGTH:
        payload = wire.bytes(field)
        if known.message_type is not None:
            payload = _renumber(payload, known.message_type, table)
        return tag + varint(len(payload)) + payload
    if field.kind == VARINT and known.enum_type is not None:
        values = table.get(_local_name(known.enum_type), {})
        return tag + varint(values.get(field.value, field.value))
    return tag + wire.bytes(field)


def _local_name(descriptor: Any) -> str:
    return str(descriptor.full_name).removeprefix("caffe.")


def detect_dialect(wire: Wire, layer_type: str, fields: Sequence[Field]) -> str | None:
    """The fork that a layer's fields give away; None if they do not.

    Args:
        wire: where the fields lie.
        layer_type: the layer's type.
        fields: the fields of its LayerParameter.
    """
    found = {field.number: field for field in fields}
    # NVCaffe's numeric types have numbers that are messages elsewhere.
    if any(n in found and found[n].kind == VARINT for n in (145, 146, 147, 148)):
        return "nvcaffe"
    if 45 in found or (layer_type == "Upsample" and 137 in found):
        return "segnet"
    if layer_type in ("LSTM", "RNN", "LSTMUnit", "Recurrent"):
        return next((d for n, d in ((145, "geeps"), (134, "lisa")) if n in found), None)
    engine = found.get(149)
    if engine is not None and engine.kind == LENGTH:
        name = wire.bytes(engine)
        if name.startswith((b"CAFFE", b"MKL", b"DNN:")):
            return "intel"
    return None


@dataclass(frozen=True)
class BatchNormBlobs:
    """Which blob of a BatchNorm layer is what; None where there is none.

    Attributes:
        mean, variance: the stored statistics.
        factor: what mean and variance are to be divided by.
        scale, bias: learned, as of a Scale layer behind.
    """

    mean: int
    variance: int
    factor: int | None
    scale: int | None
    bias: int | None


def batch_norm_blobs(counts: Sequence[int]) -> BatchNormBlobs | None:
    """The roles of a BatchNorm layer's blobs, known by how many values each has.

    Caffe has three blobs: mean, variance, factor. NVCaffe with scale_bias has five:
    its older releases scale, bias, mean, variance and an unused one; from 0.16 on
    mean, variance, factor, scale and bias, where the factor is a single number.

    Returns:
        The roles; None for any other number of blobs.
    """
    if len(counts) == 3:
        return BatchNormBlobs(0, 1, 2, None, None)
    if len(counts) == 5:
        if counts[2] == 1 and counts[3] > 1:
            return BatchNormBlobs(0, 1, 2, 3, 4)
        return BatchNormBlobs(2, 3, None, 0, 1)
    return None


def has_plain_statistics(factor: float, mean: Any, variance: Any) -> bool:
    """Whether statistics are stored as they are and not as sums.

    Caffe stores sums and the factor that they are divided by. NVCaffe stores mean and
    variance themselves and a factor of 0, which Caffe reads as statistics of 0.

    Args:
        factor: the third blob.
        mean: the first blob, an array.
        variance: the second blob, an array.
    """
    return factor == 0 and bool((mean != 0).any() or (variance != 0).any())
