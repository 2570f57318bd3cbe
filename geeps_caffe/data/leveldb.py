"""LevelDB databases, read through a view that leaves the original alone.

Opening a LevelDB takes its lock and rewrites its manifest. So we open a folder of
our own that holds links to the table files (which never change) and copies of the
few small files that do: any number of ranks and nets may read one database, also
from a read-only folder, and nothing is written beside the data.
"""

import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from geeps_caffe.data.database import describe, kind_of, missing, reading
from geeps_caffe.errors import DataError

_TABLES = (".ldb", ".sst")


class LevelDb:
    """A LevelDB database, as older Caffe tools write it.

    It does not know its length; `len` walks all records once. Records come in
    order, one after the other; a step back starts from the front.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        _check_kind(path)
        self._view = tempfile.TemporaryDirectory(prefix="geeps-caffe-leveldb-")
        self._length: int | None = None
        try:
            self._database = _open(path, self._view.name)
            self._start()
        except DataError:
            self._view.cleanup()
            raise

    def __len__(self) -> int:
        if self._length is None:
            iterator = self._database.iterator
            with _reading(self.path), iterator(include_value=False) as keys:
                self._length = sum(1 for _ in keys)
        return self._length

    def read(self, index: int) -> bytes:
        """The value of record `index`, counted on from the start past the end."""
        return self._seek(index)[1]

    def read_all(self, indices: Sequence[int]) -> list[bytes]:
        """The values of several records."""
        return [self.read(i) for i in indices]

    def key(self, index: int) -> str:
        """The key of record `index`."""
        return self._seek(index)[0].decode("utf-8", "replace")

    def samples(self) -> tuple[int, ...]:
        """The first records; there is no quick way to the last."""
        return tuple(range(4))

    def close(self) -> None:
        """Give the files back and remove the view."""
        self._database.close()
        self._view.cleanup()

    def _start(self) -> None:
        with _reading(self.path):
            self._records: Iterator[tuple[bytes, bytes]] = self._database.iterator(
                verify_checksums=True
            )
        self._at = -1
        self._record = (b"", b"")
        self._following = self._next()
        if self._following is None:
            raise DataError(f"LevelDB {describe(self.path)} holds no records")

    def _seek(self, index: int) -> tuple[bytes, bytes]:
        if self._length is not None:
            index %= self._length
        if index < self._at or self._at < 0:
            self._start()
        while self._at < index:
            if self._following is None:  # the end: now the length is known
                self._length = self._at + 1
                return self._seek(index)
            self._record = self._following
            self._following = self._next()
            self._at += 1
        return self._record

    def _next(self) -> tuple[bytes, bytes] | None:
        with _reading(self.path):
            return next(self._records, None)


def _reading(path: str) -> AbstractContextManager[None]:
    return reading("LevelDB", path, plyvel().Error)


def plyvel() -> Any:
    """The library that reads and writes LevelDB; it is optional."""
    try:
        import plyvel as library  # noqa: PLC0415 - optional
    except ImportError as error:
        raise DataError(
            "LevelDB needs another package: pip install 'geeps-caffe[leveldb]'; or "
            "use LMDB (`backend: LMDB`; of a tool, -backend lmdb)"
        ) from error
    return library


def _check_kind(path: str) -> None:
    match kind_of(path):
        case "leveldb":
            pass
        case "":
            raise DataError(missing(path, "LevelDB database"))
        case "lmdb":
            raise DataError(
                f"{describe(path)} is an LMDB database, but LevelDB was asked for "
                "(Caffe's default); write `backend: LMDB`"
            )
        case _:
            raise DataError(
                f"{describe(path)} is no LevelDB database: it has no file CURRENT"
            )


def _open(path: str, view: str) -> Any:
    library = plyvel()
    try:
        _link(Path(path), Path(view))
        return library.DB(view, create_if_missing=False)
    except (OSError, library.Error) as error:
        raise DataError(
            f"LevelDB {describe(path)} can't be opened: {error}; if another program "
            "is writing it, wait for its end; else make the database again"
        ) from error


def _link(source: Path, view: Path) -> None:
    for file in source.iterdir():
        if file.suffix in _TABLES:
            os.symlink(file.resolve(), view / file.name)
        elif file.name.startswith(("CURRENT", "MANIFEST")) or file.suffix == ".log":
            shutil.copyfile(file, view / file.name)
