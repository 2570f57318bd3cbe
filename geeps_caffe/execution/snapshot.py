"""Snapshots: weights, the update rule's history, and where the data stood.

The pair that Caffe writes, and a third file of ours beside it, `..._iter_N.position`
(JSON): positions of the data sources, so that a resumed run sees the records that
follow. All are wholly on disk before the first is in its place, and the state comes
last: a state never names weights that are not there.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from geeps_caffe.device.array import Array
from geeps_caffe.errors import InputError
from geeps_caffe.files import DISK, FileSystem, Writer, write_bytes
from prototxt.state import State, read_state, write_state

_HDF5 = 0  # SnapshotFormat in caffe.proto
#: What JSON that is no position may raise.
_NO_POSITION = (
    OSError,
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    RecursionError,
)


def snapshot_prefix(solver: Any, solver_path: str) -> str:
    """Where snapshots go: snapshot_prefix, or the solver file's name without ending.

    A prefix that is a folder, or ends like one, gets the solver file's stem.
    """
    stem = str(Path(solver_path).with_suffix("")) if solver_path else "snapshot"
    prefix = str(solver.snapshot_prefix) or stem
    if prefix.endswith("/") or Path(prefix).is_dir():
        prefix = str(Path(prefix) / Path(stem).name)
    return prefix


def prepare_folder(prefix: str, disk: FileSystem = DISK) -> None:
    """Make the folder of the snapshots and try to write there, before hours are spent.

    Raises:
        InputError: it can't be made, or nothing can be written in it.
    """
    folder = Path(prefix).parent
    trial = f"{prefix}.tempfile"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_bytes(trial, b"", disk)
        disk.remove(trial)
    except OSError as error:
        raise InputError(
            f"snapshot_prefix {prefix!r}: the folder {str(folder)!r} can't be made or "
            f"written ({error.strerror}); snapshots would be lost"
        ) from error
    except InputError as error:
        raise InputError(f"snapshot_prefix {prefix!r}: {error}") from error


@dataclass(frozen=True)
class SnapshotFiles:
    """The names of a snapshot's files."""

    weights: str
    state: str
    position: str
    hdf5: bool = False


def file_names(solver: Any, solver_path: str, iteration: int) -> SnapshotFiles:
    """The files of the snapshot at an iteration."""
    hdf5 = solver.snapshot_format == _HDF5
    end = ".h5" if hdf5 else ""
    base = f"{snapshot_prefix(solver, solver_path)}_iter_{iteration}"
    return SnapshotFiles(
        f"{base}.caffemodel{end}",
        f"{base}.solverstate{end}",
        f"{base}.position",
        hdf5,
    )


def state_writer(
    files: SnapshotFiles, iteration: int, history: Sequence[Array], current_step: int
) -> Writer:
    """What writes the solver state that belongs to the weights of `files`."""
    content = iteration, files.weights, history, current_step
    if not files.hdf5:
        return lambda file: write_state(file, *content)
    from prototxt.hdf5_write import write_state_hdf5  # noqa: PLC0415  h5py is slow

    return lambda file: write_state_hdf5(file, *content)


def position_writer(
    positions: Mapping[str, Any], ranks: int, seed: int, histories: int = 1
) -> Writer:
    """What writes where each source stands; keys are the layers' names.

    `histories`: how many there are, where each rank has one and a state of its own.
    """
    content = {"version": 1, "ranks": ranks, "seed": seed, "sources": positions}
    content["histories"] = histories
    text = json.dumps(content, indent=1, sort_keys=True) + "\n"

    def write(file: BinaryIO) -> None:
        file.write(text.encode())

    return write


def read_position(state_path: str) -> dict[str, Any] | None:
    """The positions beside a solver state; None where Caffe wrote it.

    Raises:
        InputError: the file is there but damaged.
    """
    base = state_path.removesuffix(".h5").removesuffix(".solverstate")
    path = Path(f"{base}.position")
    if not path.is_file():
        return None
    try:
        content = json.loads(path.read_text())
        places = [source["place"] for source in content["sources"].values()]
        if content["version"] != 1 or not all(map(_is_place, places)):
            raise ValueError("not a position file of version 1")
    except _NO_POSITION as error:
        raise InputError(
            f"{path}: damaged position file ({error}); remove it to resume with the "
            "data from its first record"
        ) from error
    return dict(content)


def _is_place(found: object) -> bool:
    """A number of records, which 64 bits hold with those of the run."""
    return isinstance(found, int) and 0 <= found < 1 << 60


def load_state(path: str) -> State:
    """Read a solver state (binary or HDF5); weights given by mistake are named."""
    return read_state(path)
