"""The messages and enums of caffe.proto under pycaffe's name for them.

`caffe_pb2.NetParameter`, `caffe_pb2.Phase`, `caffe_pb2.TRAIN`: found when asked for, in
the pool of `prototxt`, which does not clash with another program's caffe_pb2.
"""

from typing import Any

from google.protobuf.internal.enum_type_wrapper import EnumTypeWrapper

from geeps_caffe.errors import unknown
from prototxt.schema import enum, message_class, message_names

_ENUMS = ("Phase",)  # outside of any message


def __getattr__(name: str) -> Any:
    """A message's class, an enum, or a value of one."""
    if name in message_names():
        return message_class(name)
    if name in _ENUMS:
        return EnumTypeWrapper(enum(name))
    for values in (enum(kind).values_by_name for kind in _ENUMS):
        if name in values:
            return values[name].number
    if name.startswith("_"):
        raise AttributeError(name)
    raise AttributeError(f"caffe_pb2: {unknown('name', name, __dir__())}")


def __dir__() -> list[str]:
    values = [value for kind in _ENUMS for value in enum(kind).values_by_name]
    return sorted((*message_names(), *_ENUMS, *values))
