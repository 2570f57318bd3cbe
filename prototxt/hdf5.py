"""The HDF5 twins of weight files and solver states (.caffemodel.h5, .solverstate.h5).

Weights: data/<layer>/<index>, and diff/ in the same way. State: iter, learned_net,
current_step, history/<index>. A layer whose name has slashes becomes nested groups,
which is what HDF5 makes of the name; a group may so hold a layer's arrays and other
layers' groups (BVLC/caffe#5905), and both are found.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from prototxt.errors import PrototxtError
from prototxt.files import FilePath
from prototxt.hdf5_files import library, opened, read_array
from prototxt.schema import LayerParameter
from prototxt.state import State, weights_for_state
from prototxt.weights import WeightsFile
from prototxt.weights_layer import WeightsLayer

if TYPE_CHECKING:
    import h5py

_REAL, _WHOLE, _TEXT = "fiu", "iu", "SO"  # dtype kinds
_MOST_BLOBS = 1000  # of a layer


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
        with opened(self.path) as file:
            return _reals(file, name)


def kind_of_hdf5(path: FilePath) -> Literal["hdf5 weights", "hdf5 state", "unknown"]:
    """Whether an HDF5 file is a solver state, weights, or neither (training data)."""
    with opened(path) as file:
        if "history" in file or "iter" in file:
            return "hdf5 state"
        return "hdf5 weights" if _has_weights(file) else "unknown"


def _has_weights(file: "h5py.File") -> bool:
    return isinstance(file.get("data"), library().Group)


def read_weights_hdf5(path: FilePath) -> WeightsFile:
    """Read weights; types and settings of layers are not in such files.

    Raises:
        PrototxtError: the file is not there, is damaged, or is of another kind.
    """
    name = os.fspath(path)
    with opened(path) as file:
        if not _has_weights(file):
            raise PrototxtError(_no_data(file), name)
        layers = tuple(
            WeightsLayer(layer, "", tuple(blobs), "V2", -1, None, _named(layer))
            for layer, blobs in _Layers(file, name).below(file["data"], "")
        )
    return WeightsFile(name, "", layers)


def _named(layer: str) -> bytes:
    content: bytes = LayerParameter(name=layer).SerializeToString()
    return content


def _no_data(file: "h5py.File") -> str:
    if "history" in file or "iter" in file:
        return "this is a solverstate, not weights; the weights are beside it"
    return f"no group 'data' in the file (found: {', '.join(sorted(file))})"


class _Layers:
    """The layers of a file and their arrays."""

    def __init__(self, file: "h5py.File", path: str) -> None:
        self._file, self._path = file, path
        self._seen: set[h5py.Group] = set()

    def below(
        self, group: "h5py.Group", prefix: str
    ) -> Iterator[tuple[str, list[Hdf5Blob | None]]]:
        """Layers of a group and of the groups in it, with their arrays.

        A group that stands in several places, or in itself, could be walked for ever.
        """
        for name, item in group.items():
            if not isinstance(item, library().Group):
                continue
            layer = f"{prefix}{name}"
            if item in self._seen:
                text = f"the group 'data/{layer}' stands in another place, too"
                raise PrototxtError(text, self._path)
            self._seen.add(item)
            blobs = self._arrays(item, layer)
            subgroups = any(isinstance(i, library().Group) for i in item.values())
            if blobs or not subgroups:
                yield layer, blobs
            if subgroups:
                yield from self.below(item, f"{layer}/")

    def _arrays(self, group: "h5py.Group", layer: str) -> list[Hdf5Blob | None]:
        """Arrays by their index; None where the layer shares what another owns."""
        numbers = [
            int(name)
            for name, item in group.items()
            if name.isascii() and name.isdigit() and isinstance(item, library().Dataset)
        ]
        count = max(numbers, default=-1) + 1
        if count > _MOST_BLOBS:
            text = f"'data/{layer}/{count - 1}': no layer has so many arrays"
            raise PrototxtError(text, self._path)
        blobs: list[Hdf5Blob | None] = [None] * count
        for index in numbers:
            data, diff = f"data/{layer}/{index}", f"diff/{layer}/{index}"
            shape = tuple(group[str(index)].shape)
            there = diff if diff in self._file else None
            blobs[index] = Hdf5Blob(self._path, shape, data, there)
        return blobs


def read_state_hdf5(path: FilePath) -> State:
    """Read a solver state.

    Raises:
        PrototxtError: the file is not there, is damaged, or is of another kind.
    """
    name = os.fspath(path)
    with opened(path) as file:
        if "iter" not in file:
            text = (
                weights_for_state(name) if "data" in file else "no 'iter' in the file"
            )
            raise PrototxtError(text, name)
        history = range(len(file.get("history", ())))
        return State(
            path=name,
            iter=_number(file, "iter"),
            learned_net=_string(file, "learned_net") if "learned_net" in file else "",
            history=tuple(_reals(file, f"history/{i}") for i in history),
            current_step=_number(file, "current_step") if "current_step" in file else 0,
        )


def _reals(file: "h5py.File", name: str) -> npt.NDArray[np.float32]:
    return read_array(file, name, _REAL).astype(np.float32, copy=False)


def _number(file: "h5py.File", name: str) -> int:
    return int(read_array(file, name, _WHOLE).reshape(-1)[0])


def _string(file: "h5py.File", name: str) -> str:
    value = read_array(file, name, _TEXT).reshape(-1)[0]
    return value.decode() if isinstance(value, bytes) else str(value)
