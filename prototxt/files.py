"""Files: opening with a helpful fault, telling kinds apart, replacing safely."""

import mmap
import os
import re
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, Literal, TypeAlias

from prototxt.errors import PrototxtError, nearest
from prototxt.foreign import HEAD, foreign
from prototxt.wire import LENGTH, VARINT, Buffer, Wire

FilePath: TypeAlias = str | os.PathLike[str]
Kind = Literal[
    "net text",
    "solver text",
    "weights",
    "state",
    "mean",
    "hdf5 weights",
    "hdf5 state",
    "unknown",
]

HDF5_MAGIC = b"\x89HDF\r\n\x1a\n"
_HEAD = 65536  # bytes that decide whether a file is text
_BOMS = (
    (b"\xef\xbb\xbf", "utf-8"),
    (b"\xff\xfe", "utf-16-le"),
    (b"\xfe\xff", "utf-16-be"),
)


def missing_file(path: FilePath) -> PrototxtError:
    """The exception for a file that is not there: where it was sought, what is near."""
    name = os.fspath(path)
    if not name.strip():
        return PrototxtError(f"the name of a file is {name!r}; give the file's")
    full = Path(name).absolute()
    if full.is_symlink():
        text = f"a link to {os.readlink(full)!r}, which is not there"
        return PrototxtError(text, name)
    text = f"no such file; sought as {full} (current folder: {Path.cwd()})"
    folder = full.parent
    if not folder.is_dir():
        return PrototxtError(f"{text}; there is no folder {folder}", name)
    close = nearest(full.name, [entry.name for entry in folder.iterdir()])
    if close:
        text += f"; did you mean {os.path.join(os.path.dirname(name), close)!r}?"
    return PrototxtError(text, name)


def open_file(path: FilePath) -> BinaryIO:
    """Open a file for reading.

    Raises:
        PrototxtError: it is not there, is a folder, or may not be read.
    """
    try:
        return open(path, "rb")
    except FileNotFoundError:
        raise missing_file(path) from None
    except NotADirectoryError:
        raise missing_file(path) from None
    except IsADirectoryError:
        raise PrototxtError("is a folder, not a file", os.fspath(path)) from None
    except OSError as error:
        text = f"cannot be read: {error.strerror}"
        raise PrototxtError(text, os.fspath(path)) from error


def read_bytes(path: FilePath) -> bytes:
    """The content of a file; faults as `open_file`."""
    with open_file(path) as file:
        return file.read()


def map_file(path: FilePath) -> Wire:
    """A file's bytes, mapped into memory.

    Raises:
        PrototxtError: as `open_file`; or it is empty, or another program's file.
    """
    with open_file(path) as file:
        if os.fstat(file.fileno()).st_size == 0:
            raise PrototxtError("the file is empty", os.fspath(path))
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    refuse_foreign(mapped[:HEAD], path)
    return Wire(mapped, os.fspath(path))


def refuse_foreign(head: bytes, path: FilePath) -> None:
    """Name another program's file by its first bytes (PrototxtError)."""
    what = foreign(head)
    if what is not None:
        raise PrototxtError(f"this is {what}", os.fspath(path))


def decode(content: bytes) -> str:
    """The text of a file with or without byte order mark.

    Bytes that are not UTF-8 are kept as lone surrogates: in a comment they do no harm.
    """
    for mark, encoding in _BOMS:
        if content.startswith(mark):
            return content[len(mark) :].decode(encoding, "surrogateescape")
    return content.decode("utf-8", "surrogateescape")


def is_text(head: bytes) -> bool:
    """Whether the first bytes of a file look like text."""
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return True
    return not re.search(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]", head)


def kind_of(path: FilePath) -> Kind:
    """What kind of Caffe file this is, judged by its content.

    Raises:
        PrototxtError: the file cannot be read.
    """
    with open_file(path) as file:
        head = file.read(_HEAD)
    if head.startswith(HDF5_MAGIC):
        from prototxt.hdf5 import kind_of_hdf5  # noqa: PLC0415  h5py is optional

        return kind_of_hdf5(path)
    if is_text(head):
        return _text_kind(decode(head))
    if foreign(head):
        return "unknown"
    wire = map_file(path)
    return binary_kind(wire.buffer, wire.path)


# Field names that only one kind of file has at its top.
_NET_WORDS = re.compile(r"\b(?:layers?|input|input_dim|input_shape)\s*[:{<]")
_SOLVER_WORDS = re.compile(
    r"^\s*(?:net|train_net|test_net|net_param|base_lr|lr_policy|max_iter|solver_mode"
    r"|test_iter|snapshot_prefix)\s*[:{]",
    re.MULTILINE,
)


def _text_kind(text: str) -> Kind:
    text = re.sub(r"#[^\n]*", "", text)
    if _SOLVER_WORDS.search(text):
        return "solver text"
    if _NET_WORDS.search(text):
        return "net text"
    return "unknown"


def binary_kind(content: Buffer, path: str) -> Kind:
    """What kind of message the bytes are, judged by the fields at their top."""
    try:
        found = {(f.number, f.kind) for f in Wire(content, path).fields()}
    except PrototxtError:
        return "unknown"
    if (100, LENGTH) in found or (1, LENGTH) in found:
        return "weights"
    if (2, LENGTH) in found:
        # learned_net of a state beside its iter, or V1 layers.
        return "state" if (1, VARINT) in found else "weights"
    if (3, LENGTH) in found:
        return "state"
    if found and max(number for number, _ in found) <= 13:
        return "mean"
    return "unknown"


def replace_file(path: FilePath, write: Callable[[BinaryIO], None]) -> None:
    """Write a file so that it is there whole or not at all.

    The content goes to a temporary file in the same folder, to the disk, and then
    under the name, so a crash leaves the old file.

    Raises:
        PrototxtError: the folder is not there or may not be written to.
    """
    target = Path(path)
    try:
        handle, temporary = tempfile.mkstemp(
            prefix=f".{target.name}.", dir=target.parent
        )
    except OSError as error:
        text = f"cannot be written: {error.strerror}"
        raise PrototxtError(text, os.fspath(path)) from error
    try:
        with open(handle, "wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, _mode(target))
        os.replace(temporary, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise


def _mode(target: Path) -> int:
    """Permissions of the old file, else those that a new file gets."""
    if target.exists():
        return target.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
