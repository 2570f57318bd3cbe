"""Files that are either wholly written or not at all.

A new file is written beside its place, forced to disk, and renamed into it; then the
folder is forced to disk. Whenever the program or the machine stops, the place holds
the whole old file or the whole new one.
"""

import contextlib
import errno
import os
from collections.abc import Callable, Sequence
from typing import BinaryIO, Protocol, TypeAlias

from geeps_caffe.errors import InputError


class FileSystem(Protocol):
    """The steps of writing a file, so that tests can make each of them fail."""

    def create(self, path: str) -> BinaryIO:
        """A new, empty file, open for writing and reading."""

    def sync(self, file: BinaryIO) -> None:
        """Force what was written to `file` to disk."""

    def rename(self, old: str, new: str) -> None:
        """Put the file `old` in the place of `new`, in one step."""

    def sync_folder(self, path: str) -> None:
        """Force the names in a folder to disk."""

    def remove(self, path: str) -> None:
        """Remove a file."""


class Disk:
    """The real file system."""

    def create(self, path: str) -> BinaryIO:
        """See FileSystem."""
        return open(path, "w+b")

    def sync(self, file: BinaryIO) -> None:
        """See FileSystem."""
        file.flush()
        os.fsync(file.fileno())

    def rename(self, old: str, new: str) -> None:
        """See FileSystem."""
        os.replace(old, new)

    def sync_folder(self, path: str) -> None:
        """See FileSystem. Some network folders have no such thing; that is no fault."""
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.ENOTSUP, errno.EBADF):
                raise
        finally:
            os.close(descriptor)

    def remove(self, path: str) -> None:
        """See FileSystem."""
        os.remove(path)


DISK = Disk()

Writer: TypeAlias = Callable[[BinaryIO], object]


def write_atomically(
    path: str | os.PathLike[str], writer: Writer, files: FileSystem = DISK
) -> None:
    """Have `writer` write the file at `path`; a file there stays whole until the end.

    A link is followed. An exception of `writer` passes through, the old file stays.

    Raises:
        InputError: the folder is missing, may not be written, or the disk is full.
    """
    write_together([(path, writer)], files)


def write_together(
    contents: Sequence[tuple[str | os.PathLike[str], Writer]],
    files: FileSystem = DISK,
) -> None:
    """Write several files; none is in its place before all are wholly on disk.

    Then they take their places in the order given, each before the next: where a
    later file is new, the earlier ones are, too.

    Raises:
        InputError: as `write_atomically`.
    """
    parts: list[tuple[str, str]] = []  # the file beside the place, and the place
    path: str | os.PathLike[str] = ""
    try:
        for path, writer in contents:
            target = os.path.realpath(path)
            folder, name = os.path.split(target)
            part = os.path.join(folder, f".{name}.{os.getpid()}.part")
            parts.append((part, target))
            _write(part, writer, files)
        for part, target in parts:
            path = target
            files.rename(part, target)
            files.sync_folder(os.path.dirname(target))
    except OSError as error:
        _discard(parts, files)
        folder = os.path.dirname(os.path.realpath(path))
        raise InputError(_explain(os.fspath(path), folder, error)) from error
    except Exception:
        _discard(parts, files)
        raise


def write_bytes(
    path: str | os.PathLike[str], content: bytes, files: FileSystem = DISK
) -> None:
    """Like `write_atomically`, for content that is there already."""
    write_atomically(path, lambda file: file.write(content), files)


def _write(part: str, writer: Writer, files: FileSystem) -> None:
    with files.create(part) as file:
        writer(file)
        files.sync(file)


def _discard(parts: Sequence[tuple[str, str]], files: FileSystem) -> None:
    for part, _ in parts:
        with contextlib.suppress(OSError):
            files.remove(part)


def _explain(path: str, folder: str, error: OSError) -> str:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return (
            f"{path!r} can't be written: the disk that holds {folder!r} is full; make "
            "room or choose another place. A file that was there is unchanged"
        )
    if error.errno == errno.ENOENT:
        return f"{path!r} can't be written: there is no folder {folder!r}"
    if error.errno in (errno.EACCES, errno.EROFS, errno.EPERM):
        return (
            f"{path!r} can't be written: {error.strerror}; see the rights of {folder!r}"
        )
    return f"{path!r} can't be written: {error.strerror or error}"
