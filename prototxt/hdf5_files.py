"""HDF5 files of unknown origin: opening them, and reading arrays of a checked size.

The library tells of damage by errors of many kinds, wherever it comes upon it; here
all of them are a PrototxtError.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from prototxt.blobs import Array
from prototxt.errors import PrototxtError
from prototxt.files import FilePath, open_file

if TYPE_CHECKING:
    import h5py

#: What the library raises where it comes upon damage.
DAMAGE = (OSError, RuntimeError, LookupError, ValueError, TypeError)
_DENSEST = 1032  # bytes that one byte may become: deflate's limit


def library() -> Any:
    """The module h5py.

    Raises:
        PrototxtError: it is not installed.
    """
    try:
        import h5py  # noqa: PLC0415  optional, and slow to load
    except ImportError as error:
        raise PrototxtError(
            "HDF5 files need the library h5py: pip install h5py"
        ) from error
    return h5py


@contextmanager
def opened(path: FilePath) -> Iterator["h5py.File"]:
    """An open file; what the library finds wrong in it while it is read is refused.

    Raises:
        PrototxtError: the file is not there, is no HDF5 file, or is damaged.
    """
    open_file(path).close()  # a missing file is reported in our words
    name = os.fspath(path)
    h5py = library()
    try:
        with h5py.File(name, "r") as file:
            yield file
    except DAMAGE as error:
        reason = error.args[0] if isinstance(error, KeyError) else error
        raise PrototxtError(f"cannot be read as HDF5: {reason}", name) from error


def read_array(file: "h5py.File", name: str, kinds: str) -> Array:
    """A copy of an array.

    Args:
        file: as `opened` gives it.
        name: the array's place in it.
        kinds: the letters of NumPy's dtype kinds that it may have.

    Raises:
        PrototxtError: it is no such array, or larger than the file can hold.
    """
    item = file[name]
    kind = item.dtype.kind if isinstance(item, library().Dataset) else ""
    if not kind or kind not in kinds:
        raise PrototxtError(
            f"{name!r} is not the array that belongs there", file.filename
        )
    stored = min(item.id.get_storage_size(), file.id.get_filesize())
    if item.nbytes > _DENSEST * stored:
        raise PrototxtError(
            f"{name!r} has the shape {item.shape}, which is {item.nbytes:,} bytes, but "
            f"the file holds {stored:,} of it",
            file.filename,
        )
    return np.asarray(item[()])
