"""Writing databases of records: all of one, or nothing.

Records go to a folder beside the database's place, `NAME.part`, which is renamed at
the end; so a conversion that stops halfway leaves no database that looks whole.
"""

import contextlib
import os
import shutil
from types import TracebackType
from typing import Any, Protocol

import lmdb

from geeps_caffe.data.database import describe
from geeps_caffe.data.leveldb import plyvel
from geeps_caffe.errors import InputError, unknown

_BATCH_RECORDS = 1000  # written together
_BATCH_BYTES = 64 << 20
_MAP_BYTES = 1 << 30  # an LMDB's first limit; doubled when it is reached


class _Store(Protocol):
    """Where batches of records go."""

    def write(self, records: list[tuple[bytes, bytes]]) -> None: ...

    def close(self) -> None: ...


class DatabaseWriter:
    """Writes a new database; used in a `with`, it removes a half-written one.

    Raises:
        InputError: the database exists already, or its folder can't be written.
    """

    def __init__(self, path: str, backend: str, map_bytes: int = _MAP_BYTES) -> None:
        if backend not in WRITERS:
            raise InputError(unknown("backend", backend, WRITERS))
        self._path = path.rstrip("/")
        self._part = f"{self._path}.part"
        if os.path.lexists(self._path):
            raise InputError(
                f"{describe(path)} exists already; remove it first, or choose another "
                "name"
            )
        try:
            shutil.rmtree(self._part, ignore_errors=True)  # of a run that was killed
            os.makedirs(self._part)
        except OSError as error:
            raise InputError(
                f"database {describe(path)} can't be made: {error.strerror}"
            ) from error
        try:
            self._store: _Store = WRITERS[backend](self._part, map_bytes)
        except Exception:
            shutil.rmtree(self._part, ignore_errors=True)
            raise
        self._waiting: list[tuple[bytes, bytes]] = []
        self._nbytes = 0
        self.written = 0

    def put(self, key: str, record: bytes) -> None:
        """Add a record."""
        self._waiting.append((os.fsencode(key), record))
        self._nbytes += len(record)
        self.written += 1
        if len(self._waiting) >= _BATCH_RECORDS or self._nbytes >= _BATCH_BYTES:
            self._flush()

    def finish(self) -> None:
        """Put the database in its place."""
        self._flush()
        self._store.close()
        os.rename(self._part, self._path)

    def abandon(self) -> None:
        """Remove what has been written."""
        with contextlib.suppress(OSError, lmdb.Error):
            self._store.close()
        shutil.rmtree(self._part, ignore_errors=True)

    def __enter__(self) -> "DatabaseWriter":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is not None:
            self.abandon()

    def _flush(self) -> None:
        try:
            self._store.write(self._waiting)
        except (OSError, lmdb.Error) as error:
            raise InputError(
                f"database {self._path!r} can't be written after {self.written} "
                f"records: {error}; is the disk full?"
            ) from error
        self._waiting, self._nbytes = [], 0


class _LmdbStore:
    def __init__(self, folder: str, map_bytes: int) -> None:
        self._environment = lmdb.open(
            folder, map_size=map_bytes, lock=False, sync=False, meminit=False
        )

    def write(self, records: list[tuple[bytes, bytes]]) -> None:
        try:
            with self._environment.begin(write=True) as transaction:
                for key, record in records:
                    transaction.put(key, record)
        except lmdb.MapFullError:
            self._environment.set_mapsize(2 * self._environment.info()["map_size"])
            self.write(records)

    def close(self) -> None:
        self._environment.sync(True)
        self._environment.close()


class _LevelDbStore:
    def __init__(self, folder: str, map_bytes: int) -> None:
        del map_bytes  # LevelDB has no limit
        self._database: Any = plyvel().DB(
            folder, create_if_missing=True, write_buffer_size=_BATCH_BYTES
        )

    def write(self, records: list[tuple[bytes, bytes]]) -> None:
        with self._database.write_batch(sync=True) as batch:
            for key, record in records:
                batch.put(key, record)

    def close(self) -> None:
        self._database.close()


#: From the name of a backend, as the tools spell it, to its writer.
WRITERS: dict[str, type[_LmdbStore] | type[_LevelDbStore]] = {
    "lmdb": _LmdbStore,
    "leveldb": _LevelDbStore,
}
