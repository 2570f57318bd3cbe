"""The feed of an HDF5Data layer: rows of data sets in a list of HDF5 files.

Rows are read in slices, so files may be larger than memory.
"""

import itertools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from geeps_caffe.data.database import describe
from geeps_caffe.data.listing import read_given, read_head
from geeps_caffe.data.sampler import Batch
from geeps_caffe.device.array import Array, Shape, Shapes
from geeps_caffe.errors import DataError, unknown
from prototxt.hdf5_files import DAMAGE

_OPEN_FILES = 8


def read_file_list(path: str) -> list[str]:
    """The HDF5 files that the text file at `path` names, a word each.

    Raises:
        DataError: the list is missing, is itself an HDF5 file, or names no file.
    """
    content = read_given(path, "list of HDF5 files")
    if content.startswith(b"\x89HDF"):
        raise DataError(
            f"{describe(path)} is an HDF5 file itself; `source` of HDF5Data is a text "
            "file that names HDF5 files, one a line"
        )
    names = content.decode("utf-8-sig", "surrogateescape").split()
    if not names:
        raise DataError(f"list of HDF5 files {describe(path)} is empty")
    return names


class Hdf5Files:
    """The rows of all files of a list, one file after the other."""

    def __init__(self, paths: Sequence[str], tops: Sequence[str]) -> None:
        self._files = [_File(path, tops) for path in paths]
        self._open: list[int] = []
        self.rows = [file.rows for file in self._files]
        self.shapes = self._files[0].shapes  # of one row, for each top
        self._ends = np.cumsum(self.rows)
        for file in self._files[1:]:
            self._check(file)

    def __len__(self) -> int:
        return int(self._ends[-1])

    def read(self, numbers: Array) -> list[Array]:
        """The rows `numbers` (counted on from the start past the end) of each top."""
        out = [np.empty((len(numbers), *s), np.float32) for s in self.shapes]
        for start, stop, number in _runs(numbers % len(self), self._ends):
            index, row = self._place(number)
            parts = [values[start:stop] for values in out]
            self._read(index, row, parts)
        return out

    def name(self, number: int) -> str:
        """Where row `number` stands."""
        index, row = self._place(number % len(self))
        return f"row {row} of {self._files[index].path!r}"

    def close(self) -> None:
        """Close the files."""
        for file in self._files:
            file.close()

    def _place(self, number: int) -> tuple[int, int]:
        """The file of a row, and which of its rows it is."""
        index = int(np.searchsorted(self._ends, number, side="right"))
        return index, number - (int(self._ends[index]) - self.rows[index])

    def _read(self, index: int, row: int, parts: Sequence[Array]) -> None:
        """Rows of file `index`. Lists are long: only the latest files stay open."""
        self._open = [i for i in self._open if i != index] + [index]
        while len(self._open) > _OPEN_FILES:
            self._files[self._open.pop(0)].close()
        self._files[index].read(row, parts)

    def _check(self, file: "_File") -> None:
        if file.shapes != self.shapes:
            raise DataError(
                f"HDF5 file {file.path!r} has rows of shape {list(file.shapes)}, "
                f"{self._files[0].path!r} of shape {list(self.shapes)}; all files of "
                "the list need the same"
            )


@dataclass(frozen=True)
class Rows:
    """A batch of rows, an array for each top."""

    values: Sequence[Array]

    @property
    def shapes(self) -> Shapes:
        """See Decoded."""
        return tuple(v.shape for v in self.values)


class Hdf5Feed:
    """Reads rows of HDF5 files; there is nothing to decode."""

    def __init__(self, files: Hdf5Files) -> None:
        self._files = files

    def fetch(self, batch: Batch) -> Sequence[Array]:
        """See Feed."""
        return self._files.read(batch.records)

    def decode(self, batch: Batch, fetched: Sequence[Array]) -> Rows:
        """See Feed."""
        del batch
        return Rows(fetched)

    def write(self, batch: Batch, decoded: Rows, tops: Sequence[Array]) -> None:
        """See Feed."""
        del batch
        for top, values in zip(tops, decoded.values, strict=True):
            np.copyto(top, values)

    def name(self, number: int) -> str:
        """See Feed: its row and file."""
        return self._files.name(number)

    def close(self) -> None:
        """See Feed."""
        self._files.close()


class _File:
    """The data sets of one file that the tops name; open while it is read from."""

    def __init__(self, path: str, tops: Sequence[str]) -> None:
        self.path = path
        self._tops = tops
        self._file: Any = None
        sets = self._sets()
        self.rows = int(sets[0].shape[0])
        self.shapes: tuple[Shape, ...] = tuple(s.shape[1:] for s in sets)
        for top, values in zip(tops, sets, strict=True):
            if values.shape[0] != self.rows:
                raise DataError(
                    f"HDF5 file {path!r}: data set {top!r} has {values.shape[0]} "
                    f"rows, {tops[0]!r} has {self.rows}; all tops need the same number"
                )
        if not self.rows:
            raise DataError(f"HDF5 file {path!r} has no rows")
        self.close()

    def read(self, row: int, parts: Sequence[Array]) -> None:
        """Rows from `row` on into an array for each top."""
        with _told(self.path):
            for values, part in zip(self._sets(), parts, strict=True):
                part[...] = values[row : row + len(part)]

    def close(self) -> None:
        """Close the file until it is read from again."""
        if self._file is not None:
            self._file.close()
        self._file = None

    def _sets(self) -> list[Any]:
        if self._file is None:
            self._file = _open(self.path)
        with _told(self.path):
            return [self._find(top) for top in self._tops]

    def _find(self, top: str) -> Any:
        if top not in self._file:
            named = unknown("data set", top, list(self._file))
            raise DataError(
                f"HDF5 file {self.path!r}: {named}; HDF5Data reads the data sets that "
                "its tops are named after"
            )
        values = self._file[top]
        if not getattr(values, "shape", ()) or values.dtype.kind not in "fiu":
            raise DataError(
                f"HDF5 file {self.path!r}: {top!r} is no array of numbers with rows "
                f"(it is {values!r})"
            )
        return values


@contextmanager
def _told(path: str) -> Iterator[None]:
    """Damage that is met behind the file's head is told with its path."""
    try:
        yield
    except DAMAGE as error:
        raise DataError(f"HDF5 file {path!r} is damaged: {error}") from error


def _open(path: str) -> Any:
    try:
        import h5py  # noqa: PLC0415 - heavy, and only for this source
    except ImportError as error:
        raise DataError("HDF5 files need another package: pip install h5py") from error
    try:
        return h5py.File(path, "r")
    except OSError as error:
        read_head(path, "HDF5 file")
        raise DataError(f"{describe(path)} is no HDF5 file: {error}") from error


def _runs(numbers: Array, ends: Array) -> Iterator[tuple[int, int, int]]:
    """Runs of neighbouring rows of one file: start and stop in the batch, first row."""
    file = np.searchsorted(ends, numbers, side="right")
    breaks = (np.diff(numbers) != 1) | (np.diff(file) != 0)
    starts = [0, *(np.flatnonzero(breaks) + 1).tolist(), len(numbers)]
    for start, stop in itertools.pairwise(starts):
        yield start, stop, int(numbers[start])
