"""Weight files and solver states as HDF5, written in the layout that Caffe has.

`hdf5` says what the layout is.
"""

import os
from collections.abc import Callable, Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from prototxt.blobs import Array
from prototxt.errors import PrototxtError
from prototxt.files import FilePath, replace_file
from prototxt.hdf5_files import library
from prototxt.schema import Message

if TYPE_CHECKING:
    import h5py

_PIECE = 1 << 22  # bytes that are written at a time


def write_weights_hdf5(
    target: FilePath | BinaryIO,
    net: Message,
    blobs: Sequence[Sequence[Array | None]],
    diffs: Sequence[Sequence[Array | None]] | None = None,
) -> None:
    """Write weights as Caffe does: a group for each layer, also for empty ones.

    Args:
        target: a file name (the file is replaced as a whole) or an open file.
        net: the net in the current format; only names of layers are taken.
        blobs: the parameters of each layer of `net`, in its order; None for one that
            the layer shares and another one owns, which Caffe leaves out.
        diffs: gradients to write beside them (snapshot_diff), in the same form.

    Raises:
        PrototxtError: two layers of one name have parameters; a group holds one's.
    """

    def fill(file: "h5py.File") -> None:
        _write_layers(file, "data", net, blobs)
        if diffs is not None:
            _write_layers(file, "diff", net, diffs)

    _write(target, fill)


def _write_layers(
    file: "h5py.File",
    root: str,
    net: Message,
    blobs: Sequence[Sequence[Array | None]],
) -> None:
    top = file.create_group(root)
    for layer, arrays in zip(net.layer, blobs, strict=True):
        group = top.require_group(layer.name) if layer.name else top
        for index, array in enumerate(arrays):
            if array is None:
                continue
            if str(index) in group:
                raise PrototxtError(
                    f"two layers are called {layer.name!r} and both have parameters; "
                    "an HDF5 file has room for one. Rename one, or take snapshots with "
                    "snapshot_format: BINARYPROTO"
                )
            group.create_dataset(str(index), data=_stored(array))


def _stored(array: Array) -> Array:
    dtype = "<f8" if array.dtype == np.float64 else "<f4"
    return np.asarray(array, dtype, order="C")  # keeps an array of no axes as it is


def write_state_hdf5(
    target: FilePath | BinaryIO,
    iter: int,
    learned_net: str,
    history: Sequence[Array],
    current_step: int = 0,
) -> None:
    """Write a solver state as Caffe does; arguments as `state.write_state`."""

    def fill(file: "h5py.File") -> None:
        file["iter"] = np.array([iter], "<i4")
        _write_string(file, "learned_net", learned_net)
        file["current_step"] = np.array([current_step], "<i4")
        group = file.create_group("history")
        for index, array in enumerate(history):
            group.create_dataset(str(index), data=_stored(array))

    _write(target, fill)


def _write_string(file: "h5py.File", name: str, text: str) -> None:
    """A string that ends in a zero byte, as C writes it."""
    h5d, h5s, h5t = library().h5d, library().h5s, library().h5t
    content = text.encode() + b"\0"
    kind = h5t.C_S1.copy()
    kind.set_size(len(content))
    space = h5s.create(h5s.SCALAR)
    dataset = h5d.create(file.id, name.encode(), kind, space)
    dataset.write(h5s.ALL, h5s.ALL, np.array(content, f"S{len(content)}"))


def _write(target: FilePath | BinaryIO, fill: "Callable[[h5py.File], None]") -> None:
    """Make the file in memory, so that no fault of a disk happens inside of HDF5."""
    made = BytesIO()
    with library().File(made, "w") as file:
        fill(file)
    if not isinstance(target, (str, os.PathLike)):
        _copy(made, target)
        return
    if not Path(target).parent.is_dir():
        raise PrototxtError(f"no folder {Path(target).parent}", os.fspath(target))
    replace_file(target, lambda out: _copy(made, out))


def _copy(made: BytesIO, out: BinaryIO) -> None:
    content = made.getbuffer()
    for start in range(0, len(content), _PIECE):
        out.write(content[start : start + _PIECE])
