"""The language of models: prototxt files, weight files, and their messages.

Usable alone; imports nothing of geeps_caffe.
"""

from prototxt.document import Document
from prototxt.errors import Fault, PrototxtError
from prototxt.files import kind_of
from prototxt.schema import (
    TEST,
    TRAIN,
    BlobProto,
    BlobShape,
    Datum,
    FillerParameter,
    LayerParameter,
    Message,
    NetParameter,
    NetState,
    NetStateRule,
    ParamSpec,
    SolverParameter,
    SolverState,
    TransformationParameter,
    enum_name,
    enum_value,
    message_class,
)
from prototxt.text import (
    parse_net,
    parse_solver,
    parse_text,
    read_net,
    read_solver,
    read_text,
    write_text,
)

__all__ = [
    "TEST",
    "TRAIN",
    "BlobProto",
    "BlobShape",
    "Datum",
    "Document",
    "Fault",
    "FillerParameter",
    "LayerParameter",
    "Message",
    "NetParameter",
    "NetState",
    "NetStateRule",
    "ParamSpec",
    "PrototxtError",
    "SolverParameter",
    "SolverState",
    "TransformationParameter",
    "enum_name",
    "enum_value",
    "kind_of",
    "message_class",
    "parse_net",
    "parse_solver",
    "parse_text",
    "read_net",
    "read_solver",
    "read_text",
    "write_text",
]
