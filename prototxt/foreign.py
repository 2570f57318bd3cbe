"""Files of other programs in the place of Caffe's, told by their first bytes."""

_PAGE = "a web page, not the file; the download brought an error or a login page"
_PACKED = "packed by {}; unpack it first"

#: How text begins, in small letters, after blanks; and what it is.
_PAGES = ((b"<!doctype html", _PAGE), (b"<html", _PAGE), (b"<?xml", "an XML file"))
#: Place, the bytes there, and what they mean.
_SIGNS: tuple[tuple[int, bytes, str], ...] = (
    (
        0,
        b"version https://git-lfs.github.com/spec/",
        "a pointer of Git LFS, not the file itself; fetch it with `git lfs pull`",
    ),
    (0, b"\x1f\x8b", _PACKED.format("gzip")),
    (0, b"BZh", _PACKED.format("bzip2")),
    (0, b"\xfd7zXZ\x00", _PACKED.format("xz")),
    (0, b"7z\xbc\xaf\x27\x1c", _PACKED.format("7-Zip")),
    (0, b"Rar!\x1a\x07", _PACKED.format("RAR")),
    (257, b"ustar", _PACKED.format("tar")),
    (0, b"PK\x03\x04", "a zip archive (PyTorch and NumPy write such); unpack it first"),
    (0, b"\x80\x02", "a pickle of Python (PyTorch writes such)"),
    (0, b"\x80\x03", "a pickle of Python"),
    (0, b"\x80\x04\x95", "a pickle of Python"),
    (0, b"\x80\x05\x95", "a pickle of Python"),
    (0, b"\x93NUMPY", "an array of NumPy (.npy)"),
    (0, b"\xff\xd8\xff", "a JPEG image"),
    (0, b"\x89PNG\r\n", "a PNG image"),
    (16, b"\xde\xc0\xef\xbe", "the data file of an LMDB database"),
)
HEAD = 512  # bytes that are enough to tell


def foreign(head: bytes) -> str | None:
    """What another program's file is, and what to do; None if it is none we know.

    Args:
        head: the first bytes of the file, HEAD of them if it has as many.

    >>> foreign(b"\\x1f\\x8b\\x08")
    'packed by gzip; unpack it first'
    """
    text = head[:64].removeprefix(b"\xef\xbb\xbf").lstrip().lower()
    for sign, what in _PAGES:
        if text.startswith(sign):
            return what
    for place, sign, what in _SIGNS:
        if head[place : place + len(sign)] == sign:
            return what
    return None
