"""Snapshots: weights, the update rule's history, and where the data stood.

The pair that Caffe writes, and a third file of ours beside it, `..._iter_N.position`
(JSON): positions of the data sources, so that a resumed run sees the records that
follow. Each file is written whole under another name first; the state comes last,
so a pair whose state is there is complete.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from geeps_caffe.device.array import Array
from geeps_caffe.errors import InputError
from geeps_caffe.files import FileSystem, write_atomically
from prototxt.state import State, read_state, write_state


def snapshot_prefix(solver: Any, solver_path: str) -> str:
    """Where snapshots go: snapshot_prefix, or the solver file's name without ending.

    A prefix that is a folder gets the solver file's stem.
    """
    stem = str(Path(solver_path).with_suffix("")) if solver_path else "snapshot"
    prefix = str(solver.snapshot_prefix) or stem
    if Path(prefix).is_dir():
        prefix = str(Path(prefix) / Path(stem).name)
    return prefix


def file_names(prefix: str, iteration: int, hdf5: bool) -> tuple[str, str, str]:
    """The weights', the state's and the position's file of an iteration."""
    end = ".h5" if hdf5 else ""
    base = f"{prefix}_iter_{iteration}"
    return f"{base}.caffemodel{end}", f"{base}.solverstate{end}", f"{base}.position"


def write_snapshot_state(
    path: str,
    iteration: int,
    weights: str,
    history: Sequence[Array],
    current_step: int,
    disk: FileSystem,
) -> None:
    """Write the solver state that belongs to `weights`."""
    if path.endswith(".h5"):
        from prototxt.hdf5 import write_state_hdf5  # noqa: PLC0415  h5py is slow

        write_state_hdf5(path, iteration, weights, history, current_step)
        return
    write_atomically(
        path,
        lambda file: write_state(file, iteration, weights, history, current_step),
        disk,
    )


def write_position(
    path: str, positions: Mapping[str, Any], ranks: int, seed: int, disk: FileSystem
) -> None:
    """Write where each source stands; keys are the layers' names."""
    content = {"version": 1, "ranks": ranks, "seed": seed, "sources": positions}
    text = json.dumps(content, indent=1, sort_keys=True) + "\n"
    write_atomically(path, lambda file: file.write(text.encode()), disk)


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
        sources = content["sources"]
        if not isinstance(sources, dict) or content["version"] != 1:
            raise ValueError("not a position file of version 1")
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{path}: damaged position file ({error}); remove it to resume with the "
            "data from its first record"
        ) from error
    return dict(content)


def load_state(path: str) -> State:
    """Read a solver state (binary or HDF5); weights given by mistake are named."""
    return read_state(path)
