"""Solver states (.solverstate): what a run needs to go on, beside its weights."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

from prototxt.blobs import Array, index_blob
from prototxt.encode import (
    Part,
    blob_parts,
    length_field,
    number_field,
    write_file,
)
from prototxt.errors import PrototxtError
from prototxt.files import (
    HDF5_MAGIC,
    FilePath,
    binary_kind,
    is_text,
    map_file,
    missing_file,
)
from prototxt.wire import LENGTH, VARINT, Wire, signed

_ITER, _LEARNED_NET, _HISTORY, _CURRENT_STEP = 1, 2, 3, 4


@dataclass(frozen=True)
class State:
    """The content of a solver state.

    Attributes:
        path: the file's name as the user wrote it.
        iter: iterations done.
        learned_net: the weight file's name as it was when the state was written.
        history: arrays of the update rule, one or two for each parameter.
        current_step: steps of the learning rate policy done.
    """

    path: str
    iter: int
    learned_net: str
    history: tuple[npt.NDArray[np.float32], ...]
    current_step: int

    def weights_path(self) -> Path:
        """The weight file that belongs to the state.

        It is sought under the name in the state, then beside the state, where it is
        when both were moved.

        Raises:
            PrototxtError: it is in neither place.
        """
        written = Path(self.learned_net)
        beside = Path(self.path).parent / written.name
        for path in (written, beside):
            if self.learned_net and path.is_file():
                return path
        nor = f", nor is {str(beside)!r}" if beside != written else ""
        raise PrototxtError(
            f"the state's weight file {self.learned_net!r} is not there{nor}; "
            "put it beside the state",
            self.path,
        ) from missing_file(written)


def read_state(path: FilePath) -> State:
    """Read a solver state, binary or HDF5.

    Raises:
        PrototxtError: the file is not there, is damaged, or is of another kind.
    """
    wire = map_file(path)
    if wire.buffer[:8] == HDF5_MAGIC:
        from prototxt.hdf5 import read_state_hdf5  # noqa: PLC0415  h5py is optional

        return read_state_hdf5(path)
    _check_kind(wire)
    numbers = {_ITER: 0, _CURRENT_STEP: 0}
    learned_net, history = "", []
    for field in wire.fields():
        if field.kind == VARINT:
            numbers[field.number] = signed(field.value)
        elif field.number == _LEARNED_NET and field.kind == LENGTH:
            learned_net = wire.text(field)
        elif field.number == _HISTORY and field.kind == LENGTH:
            history.append(index_blob(wire, field.start, field.end).array())
    return State(
        wire.path, numbers[_ITER], learned_net, tuple(history), numbers[_CURRENT_STEP]
    )


def _check_kind(wire: Wire) -> None:
    if is_text(bytes(wire.buffer[:4096])):
        text = "this is a text file where a solverstate was expected"
        raise PrototxtError(text, wire.path)
    kind = binary_kind(wire.buffer, wire.path)
    if kind == "weights":
        raise PrototxtError(weights_for_state(wire.path), wire.path)
    if kind == "mean":
        text = "this is a single array (a mean file?), not a solverstate"
        raise PrototxtError(text, wire.path)


def weights_for_state(path: str) -> str:
    """What to say to someone who wants to resume from a weight file."""
    text = "this file holds net weights, not a solverstate"
    sibling = sibling_state(path)
    if sibling:
        text += f"; to resume give {sibling}"
    return text + "; to start from the weights (fine-tuning) give them as --weights"


def sibling_state(path: FilePath) -> str | None:
    """The state that was written together with a weight file, if it is there."""
    name = os.fspath(path)
    for old, new in (
        (".caffemodel.h5", ".solverstate.h5"),
        (".caffemodel", ".solverstate"),
    ):
        if name.endswith(old):
            sibling = name.removesuffix(old) + new
            return sibling if Path(sibling).is_file() else None
    return None


def write_state(
    target: FilePath | BinaryIO,
    iter: int,
    learned_net: str,
    history: Sequence[Array],
    current_step: int = 0,
) -> int:
    """Write a solver state as Caffe does.

    Args:
        target: a file name (the file is replaced as a whole) or an open file.
        iter: iterations done.
        learned_net: the weight file's name, as the user will have to find it.
        history: arrays of the update rule.
        current_step: steps of the learning rate policy done.

    Returns:
        The size of the file in bytes.
    """
    parts: list[Part] = [number_field(_ITER, iter)]
    parts += length_field(_LEARNED_NET, [learned_net.encode()])
    for array in history:
        parts += length_field(_HISTORY, blob_parts(array))
    parts.append(number_field(_CURRENT_STEP, current_step))
    return write_file(target, parts)
