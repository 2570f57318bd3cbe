"""Files that flags name, looked at before anything is built."""

import os
from pathlib import Path

import prototxt
from geeps_caffe.errors import InputError
from prototxt.state import weights_for_state


def check_state(path: str) -> None:
    """Refuse what is no solver state, before anything is built.

    Raises:
        InputError: it is a file of another kind; weights are told what to do.
        PrototxtError: it is damaged.
    """
    kind = prototxt.kind_of(path)
    if kind in ("weights", "hdf5 weights"):
        raise InputError(f"{path}: {weights_for_state(path)}")
    if kind == "unknown":
        prototxt.read_state(path)  # may be cut off, and says where
    if kind not in ("state", "hdf5 state"):
        raise InputError(
            f"{path} is no solver state (.solverstate); it looks like: {kind}"
        )


def check_weights(path: str) -> None:
    """Refuse what holds no weights, before anything is built (PrototxtError)."""
    prototxt.read_weights(path)


def check_stats(path: str) -> None:
    """Say before a run that its statistics would be lost.

    Raises:
        InputError: the folder isn't there, or nothing may be written in it.
    """
    folder = Path(path).absolute().parent
    if path and not os.access(folder, os.W_OK):
        raise InputError(
            f"-stats {path}: there is no folder {str(folder)!r}, or it can't be written"
        )
