"""Writing arrays to an HDF5 file, batch after batch."""

import os
import weakref
from contextlib import suppress
from pathlib import Path
from typing import Any

from geeps_caffe.device.array import Array
from geeps_caffe.errors import DataError


class Hdf5Output:
    """Data sets that grow along axis 0; the file is there, whole, after `close`.

    Batches go to a temporary file beside it, so memory does not grow. An output that
    nobody closes is closed when it is forgotten, or when Python ends.
    """

    def __init__(self, path: str) -> None:
        """Raise a DataError where the file can't be written."""
        target = Path(path).absolute()
        temporary = target.with_name(f".{target.name}.{os.getpid()}")
        self._file = _create(temporary, path)
        self._finish = weakref.finalize(self, _finish, self._file, temporary, target)

    def append(self, name: str, rows: Array) -> None:
        """Add rows to a data set, which is made where it is new."""
        if name not in self._file:
            whole = (None, *rows.shape[1:])
            self._file.create_dataset(name, data=rows, maxshape=whole)
            return
        dataset = self._file[name]
        known = dataset.shape[0]
        dataset.resize(known + len(rows), axis=0)
        dataset[known:] = rows

    def close(self) -> None:
        """Give the file its name; no more rows."""
        self._finish()


def _create(temporary: Path, path: str) -> Any:
    try:
        import h5py  # noqa: PLC0415 - heavy, and only for this layer
    except ImportError as error:
        raise DataError("HDF5 files need another package: pip install h5py") from error
    try:
        return h5py.File(temporary, "w")
    except OSError as error:
        raise DataError(f"HDF5 file {path!r} can't be written: {error}") from error


def _finish(file: Any, temporary: Path, target: Path) -> None:
    try:
        file.close()
        os.replace(temporary, target)
    except OSError:
        with suppress(OSError):
            temporary.unlink()
        raise
