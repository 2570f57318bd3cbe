"""The language of models: prototxt files, weight files, and their messages.

Usable alone; imports nothing of geeps_caffe. Reading text needs only protobuf; what
reads and writes arrays loads NumPy when it is first asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

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

if TYPE_CHECKING:
    from prototxt.blobs import Blob
    from prototxt.hdf5_write import write_state_hdf5, write_weights_hdf5
    from prototxt.single import read_blob, write_blob
    from prototxt.state import State, read_state, write_state
    from prototxt.weights import WeightsFile, read_weights, write_weights
    from prototxt.weights_layer import WeightsLayer

# Names that need NumPy (and h5py): where they are.
_LATE = {
    "Blob": "prototxt.blobs",
    "State": "prototxt.state",
    "WeightsFile": "prototxt.weights",
    "WeightsLayer": "prototxt.weights_layer",
    "read_blob": "prototxt.single",
    "read_state": "prototxt.state",
    "read_weights": "prototxt.weights",
    "write_blob": "prototxt.single",
    "write_state": "prototxt.state",
    "write_state_hdf5": "prototxt.hdf5_write",
    "write_weights": "prototxt.weights",
    "write_weights_hdf5": "prototxt.hdf5_write",
}


def __getattr__(name: str) -> Any:
    """Load a module that needs NumPy when one of its names is first used."""
    if name not in _LATE:
        raise AttributeError(f"module 'prototxt' has no attribute {name!r}")
    return getattr(import_module(_LATE[name]), name)


__all__ = [
    "TEST",
    "TRAIN",
    "Blob",
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
    "State",
    "TransformationParameter",
    "WeightsFile",
    "WeightsLayer",
    "enum_name",
    "enum_value",
    "kind_of",
    "message_class",
    "parse_net",
    "parse_solver",
    "parse_text",
    "read_blob",
    "read_net",
    "read_solver",
    "read_state",
    "read_text",
    "read_weights",
    "write_blob",
    "write_state",
    "write_state_hdf5",
    "write_text",
    "write_weights",
    "write_weights_hdf5",
]
