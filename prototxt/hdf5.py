"""The HDF5 twins of weight files and solver states (.caffemodel.h5, .solverstate.h5).

Weights: data/<layer>/<index>, and diff/ in the same way. State: iter, learned_net,
current_step, history/<index>. A layer whose name has slashes becomes nested groups,
which is what HDF5 makes of the name; a group may so hold a layer's arrays and other
layers' groups (BVLC/caffe#5905), and both are found.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal

import numpy as np
import numpy.typing as npt

from prototxt.blobs import Array
from prototxt.errors import PrototxtError
from prototxt.files import FilePath, open_file, replace_file
from prototxt.schema import LayerParameter, Message
from prototxt.state import State, weights_for_state
from prototxt.weights import WeightsFile
from prototxt.weights_layer import WeightsLayer

if TYPE_CHECKING:
    import h5py

_PIECE = 1 << 22  # bytes that are written at a time


def _library() -> Any:
    try:
        import h5py  # noqa: PLC0415  optional, and slow to load
    except ImportError as error:
        raise PrototxtError(
            "HDF5 files need the library h5py: pip install h5py"
        ) from error
    return h5py


def _open(path: FilePath) -> "h5py.File":
    open_file(path).close()  # a missing file is reported in our words
    try:
        return _library().File(os.fspath(path), "r")
    except OSError as error:
        text = f"cannot be read as HDF5: {error}"
        raise PrototxtError(text, os.fspath(path)) from error


@dataclass(frozen=True)
class Hdf5Blob:
    """An array in an HDF5 file; its values are read when `array` is called."""

    path: str
    shape: tuple[int, ...]
    dataset: str
    diff_dataset: str | None

    @property
    def count(self) -> int:
        """Number of values."""
        return int(np.prod(self.shape))

    def array(self) -> npt.NDArray[np.float32]:
        """A copy of the values."""
        return self._read(self.dataset)

    def diff(self) -> npt.NDArray[np.float32] | None:
        """A copy of the gradients; None if the file has none."""
        return self._read(self.diff_dataset) if self.diff_dataset else None

    def _read(self, name: str) -> npt.NDArray[np.float32]:
        with _open(self.path) as file:
            return np.asarray(file[name][()], np.float32)


def kind_of_hdf5(path: FilePath) -> Literal["hdf5 weights", "hdf5 state", "unknown"]:
    """Whether an HDF5 file is a solver state, weights, or neither (training data)."""
    with _open(path) as file:
        if "history" in file or "iter" in file:
            return "hdf5 state"
        return "hdf5 weights" if _has_weights(file) else "unknown"


def _has_weights(file: "h5py.File") -> bool:
    return isinstance(file.get("data"), _library().Group)


def read_weights_hdf5(path: FilePath) -> WeightsFile:
    """Read weights; types and settings of layers are not in such files.

    Raises:
        PrototxtError: the file is not there, is damaged, or is of another kind.
    """
    name = os.fspath(path)
    with _open(path) as file:
        if not _has_weights(file):
            raise PrototxtError(_no_data(file), name)
        layers = tuple(
            WeightsLayer(layer, "", tuple(blobs), "V2", -1, None, _named(layer))
            for layer, blobs in _layers(file, file["data"], name, "")
        )
    return WeightsFile(name, "", layers)


def _named(layer: str) -> bytes:
    content: bytes = LayerParameter(name=layer).SerializeToString()
    return content


def _no_data(file: "h5py.File") -> str:
    if "history" in file or "iter" in file:
        return "this is a solverstate, not weights; the weights are beside it"
    return f"no group 'data' in the file (found: {', '.join(sorted(file))})"


def _layers(
    file: "h5py.File", group: "h5py.Group", path: str, prefix: str
) -> Iterator[tuple[str, list[Hdf5Blob | None]]]:
    """Layers of a group and of the groups in it, with their arrays."""
    for name, item in group.items():
        if not isinstance(item, _library().Group):
            continue
        layer = f"{prefix}{name}"
        blobs = _arrays(file, item, path, layer)
        subgroups = any(isinstance(i, _library().Group) for i in item.values())
        if blobs or not subgroups:
            yield layer, blobs
        if subgroups:
            yield from _layers(file, item, path, f"{layer}/")


def _arrays(
    file: "h5py.File", group: "h5py.Group", path: str, layer: str
) -> list[Hdf5Blob | None]:
    """Arrays by their index; None where the layer shares what another owns."""
    numbers = [
        int(name)
        for name, item in group.items()
        if name.isdigit() and isinstance(item, _library().Dataset)
    ]
    blobs: list[Hdf5Blob | None] = [None] * (max(numbers, default=-1) + 1)
    for index in numbers:
        diff = f"diff/{layer}/{index}"
        data = f"data/{layer}/{index}"
        shape = tuple(group[str(index)].shape)
        blobs[index] = Hdf5Blob(path, shape, data, diff if diff in file else None)
    return blobs


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


def read_state_hdf5(path: FilePath) -> State:
    """Read a solver state.

    Raises:
        PrototxtError: the file is not there, is damaged, or is of another kind.
    """
    name = os.fspath(path)
    with _open(path) as file:
        if "iter" not in file:
            text = (
                weights_for_state(name) if "data" in file else "no 'iter' in the file"
            )
            raise PrototxtError(text, name)
        history = file.get("history", {})
        return State(
            path=name,
            iter=_number(file["iter"]),
            learned_net=_string(file["learned_net"]) if "learned_net" in file else "",
            history=tuple(
                np.asarray(history[str(i)][()], np.float32) for i in range(len(history))
            ),
            current_step=_number(file["current_step"]) if "current_step" in file else 0,
        )


def _number(dataset: "h5py.Dataset") -> int:
    return int(np.asarray(dataset[()]).reshape(-1)[0])


def _string(dataset: "h5py.Dataset") -> str:
    value = np.asarray(dataset[()]).reshape(-1)[0]
    return value.decode() if isinstance(value, bytes) else str(value)


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
    library = _library()
    content = text.encode() + b"\0"
    kind = library.h5t.C_S1.copy()
    kind.set_size(len(content))
    space = library.h5s.create(library.h5s.SCALAR)
    dataset = library.h5d.create(file.id, name.encode(), kind, space)
    dataset.write(
        library.h5s.ALL, library.h5s.ALL, np.array(content, f"S{len(content)}")
    )


def _write(target: FilePath | BinaryIO, fill: "Callable[[h5py.File], None]") -> None:
    """Make the file in memory, so that no fault of a disk happens inside of HDF5."""
    made = BytesIO()
    with _library().File(made, "w") as file:
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
