"""List files of images: a line for each, `name label`."""

import os
from dataclasses import dataclass

from geeps_caffe.data.database import describe
from geeps_caffe.data.listing import read_listing
from geeps_caffe.errors import DataError


@dataclass(frozen=True)
class Listed:
    """One line of a list file."""

    name: str
    label: int


def read_image_list(path: str, root: str = "") -> list[Listed]:
    """The images of the list file at `path`, `root` put before each name.

    The label is the last word, after a blank or a tab; the name may hold blanks.
    Blanks at the end, empty lines and Windows line ends do no harm.

    Raises:
        DataError: the file is missing or empty, a line has no label, or the root lacks
            the slash that would make a folder of it.
    """
    lines = read_listing(path, "image list").split("\n")
    listed = [
        _read(line, f"{path}:{number}", root)
        for number, line in enumerate(lines, 1)
        if line.strip()
    ]
    if not listed:
        raise DataError(f"image list {describe(path)} is empty")
    _check_root(root, listed[0].name)
    return listed


def _check_root(root: str, first: str) -> None:
    if not root or root.endswith("/") or os.path.exists(first):
        return
    if os.path.exists(f"{root}/{first.removeprefix(root)}"):
        raise DataError(
            f"there is no image {first!r}: the root folder is put before each name as "
            f"it is; write '{root}/'"
        )


def _read(line: str, place: str, root: str) -> Listed:
    words = line.strip().rsplit(maxsplit=1)
    try:
        name, label = words
        return Listed(root + name, int(label))
    except ValueError:
        raise DataError(
            f"{place}: {line.strip()!r} has no label; expected an image name and a "
            "whole number, such as 'cat.jpg 3' (0 if there is no label)"
        ) from None
