"""The message classes of caffe.proto, and its enums by name.

The compiled schema (caffe.fds) is loaded into a pool of its own, so nothing clashes
with another program's caffe_pb2 and no version of the protobuf library is pinned.
"""

from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

from google.protobuf import descriptor_pb2, message_factory
from google.protobuf.descriptor import Descriptor, EnumDescriptor
from google.protobuf.descriptor_pool import DescriptorPool

# A message's fields are known only at run time, so the type checker sees Any.
Message: TypeAlias = Any
MessageClass: TypeAlias = Any

PROTO_FILE = Path(__file__).with_name("caffe.proto")
COMPILED_FILE = Path(__file__).with_name("caffe.fds")


def _load_pool() -> DescriptorPool:
    files = descriptor_pb2.FileDescriptorSet.FromString(COMPILED_FILE.read_bytes())
    pool = DescriptorPool()
    for file in files.file:
        pool.AddSerializedFile(file.SerializeToString())
    return pool


_POOL = _load_pool()


@cache
def message_class(name: str) -> MessageClass:
    """The class of a message, such as "PoolingParameter".

    Raises:
        KeyError: caffe.proto has no such message.
    """
    return message_factory.GetMessageClass(_POOL.FindMessageTypeByName(f"caffe.{name}"))


def message_names() -> tuple[str, ...]:
    """The names of all top-level messages, in the order of caffe.proto."""
    file = _POOL.FindFileByName("caffe.proto")
    return tuple(file.message_types_by_name)


BlobShape = message_class("BlobShape")
BlobProto = message_class("BlobProto")
BlobProtoVector = message_class("BlobProtoVector")
Datum = message_class("Datum")
FillerParameter = message_class("FillerParameter")
NetParameter = message_class("NetParameter")
NetState = message_class("NetState")
NetStateRule = message_class("NetStateRule")
ParamSpec = message_class("ParamSpec")
LayerParameter = message_class("LayerParameter")
V1LayerParameter = message_class("V1LayerParameter")
V0LayerParameter = message_class("V0LayerParameter")
TransformationParameter = message_class("TransformationParameter")
LossParameter = message_class("LossParameter")
SolverParameter = message_class("SolverParameter")
SolverState = message_class("SolverState")

# Values of the enum Phase.
TRAIN, TEST = 0, 1


@cache
def enum(name: str) -> EnumDescriptor:
    """An enum by its name, such as "Phase" or "PoolingParameter.PoolMethod"."""
    return _POOL.FindEnumTypeByName(f"caffe.{name}")


def enum_name(message: Message, field: str) -> str:
    """The name of the value that an enum field of `message` has, such as "MAX"."""
    descriptor = message.DESCRIPTOR.fields_by_name[field]
    number = getattr(message, field)
    value = descriptor.enum_type.values_by_number.get(number)
    return str(value.name) if value else str(number)


def enum_value(enum_type: str, name: str) -> int:
    """The number of an enum's value; KeyError if it has no such name."""
    return int(enum(enum_type).values_by_name[name].number)


@cache
def _labels(message_type: Descriptor) -> dict[str, int]:
    # The library's own names for this differ between its versions 5 and 7.
    proto = descriptor_pb2.DescriptorProto()
    message_type.CopyToProto(proto)
    return {field.name: field.label for field in proto.field}


@cache
def repeated_fields(message_type: Descriptor) -> frozenset[str]:
    """The names of the fields that can be given more than once."""
    repeated = descriptor_pb2.FieldDescriptorProto.LABEL_REPEATED
    return frozenset(n for n, v in _labels(message_type).items() if v == repeated)


@cache
def required_fields(message_type: Descriptor) -> tuple[str, ...]:
    """The names of the fields that must be given, in the order of caffe.proto."""
    required = descriptor_pb2.FieldDescriptorProto.LABEL_REQUIRED
    return tuple(n for n, v in _labels(message_type).items() if v == required)
