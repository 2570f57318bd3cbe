"""Text files that name the files of a source, and what stands in their place."""

from geeps_caffe.data.database import describe, missing
from geeps_caffe.errors import DataError
from prototxt.foreign import HEAD, foreign


def read_listing(path: str, what: str) -> str:
    """The text of a list, in any encoding of bytes, with line ends as in Unix.

    Args:
        path: the file.
        what: what it is, for messages: "image list".

    Raises:
        DataError: it is missing, can't be read, or is another program's file.
    """
    content = read_given(path, what)
    text = content.decode("utf-8-sig", "surrogateescape")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def read_given(path: str, what: str) -> bytes:
    """The bytes of a file that a source names; faults as `read_listing`."""
    return _read(path, what, -1)


def read_head(path: str, what: str) -> bytes:
    """The first bytes of such a file; faults as `read_listing`."""
    return _read(path, what, HEAD)


def _read(path: str, what: str, size: int) -> bytes:
    try:
        with open(path, "rb") as file:
            content = file.read(size)
    except FileNotFoundError as error:
        raise DataError(missing(path, what)) from error
    except OSError as error:
        raise DataError(f"{what} {describe(path)}: {error.strerror}") from error
    found = foreign(content[:HEAD])
    if found is not None:
        raise DataError(f"{what} {describe(path)}: this is {found}")
    return content
