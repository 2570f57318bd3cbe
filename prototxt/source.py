"""The text of a file, and the line and column of a place in it."""

import re
from bisect import bisect_right

from prototxt.errors import Fault

# What ends a line. Form feeds and the like do not: editors do not count them.
_LINE_END = re.compile(r"\r\n|\r|\n")
_WINDOW = 60  # characters of a line that are shown on each side of a fault


class Source:
    """A text with a name; places in it are offsets from its start."""

    def __init__(self, text: str, name: str) -> None:
        """Index the lines of `text`, which came from the file `name`."""
        self.text = text
        self.name = name
        self._starts = [0, *(end.end() for end in _LINE_END.finditer(text))]

    def line(self, offset: int) -> int:
        """Line number of a place, from 1."""
        return bisect_right(self._starts, offset)

    def fault(self, offset: int, text: str) -> Fault:
        """A fault at a place, with the text of its line around it."""
        line = self.line(offset)
        start = self._starts[line - 1]
        column = offset - start
        first = start + max(0, column - _WINDOW)
        after = self.text[first : offset + _WINDOW]
        shown = after[: offset - first]
        shown += _LINE_END.split(after[offset - first :], maxsplit=1)[0]
        return Fault(text, line, column + 1, shown, offset - first)
