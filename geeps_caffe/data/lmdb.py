"""LMDB databases: read-only, without a lock, records straight from mapped memory."""

import errno
import os
import threading
import weakref
from collections.abc import Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import lmdb
import numpy as np

from geeps_caffe.data.database import describe, file_system, kind_of, missing, reading
from geeps_caffe.data.lmdb_pages import is_whole
from geeps_caffe.device.array import Array
from geeps_caffe.errors import DataError
from prototxt.foreign import HEAD, foreign

_NEAR = 64  # steps that are cheaper than an index of all keys


class Lmdb:
    """An LMDB database, as `convert_imageset` writes it.

    Nothing is written beside the data, so read-only and network folders work. The
    index of keys is made at the first jump; reading on in order needs none.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        shared = _open(path)
        self._give_back = weakref.finalize(self, _give_back, shared)
        with _reading(path):
            self._transaction = shared.environment.begin(buffers=True)
            self._cursor = self._transaction.cursor()
            self._length: int = self._transaction.stat()["entries"]
        self._at = -1  # where the cursor stands
        self._index: _Keys | None = None
        if not self._length:
            raise DataError(
                f"LMDB {describe(path)} holds no records; make it again and look at "
                "what the converter says it has written"
            )

    def __len__(self) -> int:
        return self._length

    def read(self, index: int) -> memoryview:
        """The value of record `index`, counted on from the start past the end."""
        self._seek(index % self._length)
        value: memoryview = self._cursor.value()
        return value

    def read_all(self, indices: Sequence[int]) -> list[memoryview]:
        """The values of several records; those that follow each other in one call."""
        first, count = indices[0] % self._length, len(indices)
        in_order = list(indices) == list(range(indices[0], indices[0] + count))
        if not in_order or first + count > self._length:
            return [self.read(i) for i in indices]
        self._seek(first)
        self._at = first + count - 1
        with _reading(self.path):
            return list(islice(self._cursor.iternext(keys=False), count))

    def key(self, index: int) -> str:
        """The key of record `index`."""
        self._seek(index % self._length)
        return bytes(self._cursor.key()).decode("utf-8", "replace")

    def samples(self) -> tuple[int, ...]:
        """The first records and the last."""
        return (*range(min(4, self._length)), self._length - 1)

    def close(self) -> None:
        """Give the files back; records read before are no longer valid."""
        self._cursor.close()
        self._transaction.abort()
        self._give_back()

    def _seek(self, index: int) -> None:
        with _reading(self.path):
            self._move(index)
        self._at = index

    def _move(self, index: int) -> None:
        step = index - self._at
        if 0 <= step <= _NEAR and self._at >= 0:
            for _ in range(step):
                self._cursor.next()
        elif index <= _NEAR:
            self._cursor.first()
            for _ in range(index):
                self._cursor.next()
        elif index == self._length - 1:
            self._cursor.last()
        else:
            self._cursor.set_key(self._keys()[index])

    def _keys(self) -> "_Keys":
        if self._index is None:
            with self._transaction.cursor() as cursor:
                keys = [bytes(k) for k in cursor.iternext(keys=True, values=False)]
            self._index = _Keys(keys)
        return self._index


class _Keys:
    """All keys in one block of bytes, since a Python object each would be large."""

    def __init__(self, keys: list[bytes]) -> None:
        self._bytes = b"".join(keys)
        ends = np.cumsum([len(key) for key in keys])
        self._ends: Array = np.concatenate([[0], ends])

    def __getitem__(self, index: int) -> bytes:
        return self._bytes[self._ends[index] : self._ends[index + 1]]


@dataclass
class _Shared:
    """An open environment and how many use it; closed with its last user."""

    key: tuple[int, int]  # device and number of the file
    environment: "lmdb.Environment"
    users: int = 0


# The library refuses to open an environment twice in a process, but a train and a
# test net may read the same one, and nets of several threads.
_OPEN: dict[tuple[int, int], _Shared] = {}
_OPENING = threading.RLock()  # a user may be collected while another one opens


def _open(path: str) -> _Shared:
    if kind_of(path) != "lmdb":
        raise DataError(_no_lmdb(path))
    file = _file(path)
    try:
        with _OPENING:
            shared = _share(file)
            try:
                _check_length(shared.environment, path, file)
            except BaseException:
                _give_back(shared)
                raise
            return shared
    except (lmdb.Error, OSError) as error:
        raise DataError(explain(path, error)) from error


def _file(path: str) -> str:
    return path if Path(path).is_file() else os.path.join(path, "data.mdb")


def _share(file: str) -> _Shared:
    """The environment of a file: the one that is open, or a new one."""
    status = os.stat(file)
    key = status.st_dev, status.st_ino
    if key not in _OPEN:
        environment = lmdb.open(
            file, subdir=False, readonly=True, lock=False, readahead=False
        )
        _OPEN[key] = _Shared(key, environment)
    _OPEN[key].users += 1
    return _OPEN[key]


def _check_length(environment: "lmdb.Environment", path: str, file: str) -> None:
    """Refuse a file that lacks records, whose reading would kill the process."""
    pages, page_bytes = environment.info()["last_pgno"] + 1, environment.stat()["psize"]
    wanted, found = pages * page_bytes, os.path.getsize(file)
    if found < wanted and not is_whole(file, page_bytes):
        raise DataError(
            f"LMDB {describe(path)} is cut off: {file} has {found:,} bytes and should "
            f"have {wanted:,}; copy it again from where it came, or make it again"
        )


def _reading(path: str) -> AbstractContextManager[None]:
    return reading("LMDB", path, lmdb.Error)


def _give_back(shared: _Shared) -> None:
    """One user less."""
    with _OPENING:
        shared.users -= 1
        if not shared.users:
            del _OPEN[shared.key]
            shared.environment.close()


def _no_lmdb(path: str) -> str:
    match kind_of(path):
        case "":
            return missing(path, "LMDB database")
        case "leveldb":
            return (
                f"{describe(path)} is a LevelDB database, but LMDB was asked for; "
                "write `backend: LEVELDB`"
            )
    return (
        f"{describe(path)} is no LMDB database: an LMDB is a folder with a file "
        "data.mdb"
    )


_ADVICE = {
    errno.ENOMEM: "the file can't be mapped; raise the limit of address space "
    "(`ulimit -v unlimited`) or copy it to a local disk",
    errno.EACCES: "it may not be read; see the rights of the file and of its folders",
    errno.ENOLCK: "the file system has no locks; copy the database to a local disk",
    errno.ENOSYS: "the file system can't map files; copy the database to a local disk",
    errno.ENODEV: "the file system can't map files; copy the database to a local disk",
}


def _other_than_lmdb(file: str) -> str | None:
    """Which other program's file it is; one of LMDB begins with page number 0."""
    with suppress(OSError), open(file, "rb") as opened:
        head = opened.read(HEAD)
        return None if head.startswith(bytes(8)) else foreign(head)
    return None


def explain(path: str, error: Exception) -> str:
    """The library's error with the path, the file system and what to do."""
    text = str(error)
    advice = [a for number, a in _ADVICE.items() if os.strerror(number) in text]
    file = _file(path)
    if Path(file).is_file() and not Path(file).stat().st_size:
        advice = [f"{file} is empty; make it again"]
    elif isinstance(error, (lmdb.InvalidError, lmdb.VersionMismatchError)):
        what = _other_than_lmdb(file)
        damaged = "it is damaged, cut off, or of LMDB 1.0; make it again"
        advice = [f"{file} is {what}" if what else damaged]
    elif "already open" in text:
        advice = ["other code in this process has opened it; close it there first"]
    return (
        f"LMDB {describe(path)} can't be opened: {text} "
        f"[{file_system(path)}]" + "".join(f"; {a}" for a in advice[:1])
    )
