"""The interface of a database of records, and what a path that fails is told."""

import difflib
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Protocol, TypeAlias

from geeps_caffe.errors import DataError

Record: TypeAlias = bytes | memoryview

_COMPARED = 1000  # names of a folder that a wrong one is compared with


@contextmanager
def reading(kind: str, path: str, fault: type[Exception]) -> Iterator[None]:
    """Faults of a library while records are read become those of the database.

    Raises:
        DataError: it is damaged.
    """
    try:
        yield
    except fault as error:
        raise DataError(
            f"{kind} {describe(path)} is damaged: {error}; copy it again from where "
            "it came, or make it again"
        ) from error


class Database(Protocol):
    """Records in the order of their keys. Calls are not safe from two threads."""

    path: str

    def __len__(self) -> int:
        """How many records there are (LevelDB has to walk them to know)."""

    def read(self, index: int) -> Record:
        """The value of record `index`; past the end it starts again, as Caffe does.

        The bytes may lie in mapped memory: valid until `close`.
        """

    def read_all(self, indices: Sequence[int]) -> Sequence[Record]:
        """The values of several records, as `read` gives them."""

    def key(self, index: int) -> str:
        """The key of record `index`, for messages."""

    def samples(self) -> tuple[int, ...]:
        """Numbers of a few records that are quick to reach, 0 first."""

    def close(self) -> None:
        """Give the files back."""


def kind_of(path: str) -> str:
    """What lies at `path`: "lmdb", "leveldb", "folder", "file" or ""."""
    place = Path(path)
    if place.is_file():
        return "lmdb" if place.name == "data.mdb" else "file"
    if not place.is_dir():
        return ""
    if (place / "data.mdb").exists():
        return "lmdb"
    return "leveldb" if (place / "CURRENT").exists() else "folder"


def describe(path: str) -> str:
    """The path as written, as resolved, and the working directory."""
    resolved = os.path.abspath(path)
    if resolved == path:
        return repr(path)
    return f"{path!r} (that is {resolved!r}; working directory {os.getcwd()!r})"


def missing(path: str, what: str) -> str:
    """Say that `path` is not there, how far it leads, and which names are near."""
    place = Path(os.path.abspath(path))
    there = next(p for p in place.parents if p.is_dir())
    wanted = place.relative_to(there).parts[0]
    near = difflib.get_close_matches(wanted, _names(there), n=3, cutoff=0.5)
    hint = f"; near names there: {', '.join(map(repr, near))}" if near else ""
    return (
        f"{what} not found: {describe(path)}; {str(there)!r} has no {wanted!r}{hint}. "
        "Relative paths start at the working directory"
    )


def _names(folder: Path) -> list[str]:
    """Some names of a folder; comparing with all of ImageNet's would take minutes."""
    if not os.access(folder, os.R_OK):
        return []
    with os.scandir(folder) as entries:
        return sorted(entry.name for entry in islice(entries, _COMPARED))


def file_system(path: str) -> str:
    """The kind and mount point of the file system that holds `path`."""
    resolved = os.path.realpath(path)
    found = ("/", "unknown")
    try:
        mounts = Path("/proc/mounts").read_text().splitlines()
    except OSError:
        return "an unknown file system"
    for line in mounts:
        _, mount, kind, *_ = line.split()
        inside = resolved == mount or resolved.startswith(mount.rstrip("/") + "/")
        if inside and len(mount) >= len(found[0]):
            found = (mount, kind)
    return f"{found[1]} mounted at {found[0]}"
