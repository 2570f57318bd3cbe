"""Window files: images, and in each the windows with class and overlap (R-CNN)."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NoReturn

from geeps_caffe.data.database import describe
from geeps_caffe.data.listing import read_listing
from geeps_caffe.errors import DataError


@dataclass(frozen=True)
class Window:
    """A window of an image; corners are inclusive."""

    image: int
    label: int
    x1: int
    y1: int
    x2: int
    y2: int


@dataclass(frozen=True)
class WindowFile:
    """The images by their number, and the windows that count as fore- or background."""

    images: dict[int, str]
    channels: int
    foreground: list[Window]
    background: list[Window]


def read_window_file(
    path: str, root: str, fg_threshold: float, bg_threshold: float
) -> WindowFile:
    """Read the window file at `path`, `root` put before each image's name.

    A window is foreground from an overlap of `fg_threshold` on, background (with
    label 0) below `bg_threshold`, and left out between them.

    Raises:
        DataError: the file is missing, or a line is not what must stand there.
    """
    words = _words(path)
    images: dict[int, str] = {}
    foreground: list[Window] = []
    background: list[Window] = []
    channels = 0
    while words.more():
        number = words.header()
        images[number] = root + words.text("the name of an image")
        channels = words.integer("channels")
        words.integer("rows")
        words.integer("columns")
        for _ in range(words.integer("the number of windows")):
            label, overlap = words.integer("a class"), words.real("an overlap")
            corners = [words.integer(f"corner {c}") for c in ("x1", "y1", "x2", "y2")]
            if overlap >= fg_threshold:
                if label <= 0:
                    words.fail(f"a foreground window of class {label}; 0 is background")
                foreground.append(Window(number, label, *corners))
            elif overlap < bg_threshold:
                background.append(Window(number, 0, *corners))
    if not images:
        raise DataError(f"window file {describe(path)} is empty")
    return WindowFile(images, channels, foreground, background)


class _Words:
    """The words of the file, each with its line."""

    def __init__(self, path: str, lines: list[str]) -> None:
        self._path = path
        self._words: Iterator[tuple[int, str]] = (
            (n, word) for n, line in enumerate(lines, 1) for word in line.split()
        )
        self._following = next(self._words, None)
        self._line = 0

    def more(self) -> bool:
        return self._following is not None

    def text(self, what: str) -> str:
        if self._following is None:
            self.fail(f"the file ends where {what} should stand")
        self._line, word = self._following
        self._following = next(self._words, None)
        return word

    def integer(self, what: str) -> int:
        return int(self.real(what))  # corners such as "12.0" are common

    def real(self, what: str) -> float:
        word = self.text(what)
        try:
            return float(word)
        except ValueError:
            self.fail(f"expected {what}, found {word!r}")

    def header(self) -> int:
        word = self.text("'#'")
        if word != "#":
            self.fail(f"expected '# number of the image', found {word!r}")
        return self.integer("the number of the image")

    def fail(self, message: str) -> NoReturn:
        raise DataError(f"{self._path}:{self._line}: {message}")


def _words(path: str) -> _Words:
    return _Words(path, read_listing(path, "window file").split("\n"))
