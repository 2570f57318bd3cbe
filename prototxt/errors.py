"""What is raised when a file of the model language cannot be used.

There is one exception, with everything that was found wrong in one file: a user
should not have to run once for each misspelt field.
"""

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

_SHOWN = 5  # lines that are named of faults with the same wording


@dataclass(frozen=True)
class Fault:
    """One thing that is wrong, and where.

    Attributes:
        text: what is wrong.
        line, column: where, from 1; 0 means that no place is known.
        source: the text of the line, or the part of a long one that is around.
        caret: how many characters of `source` stand before the fault.
    """

    text: str
    line: int = 0
    column: int = 0
    source: str = ""
    caret: int = 0

    def show(self, name: str) -> str:
        """The fault as `file:line:column: what is wrong`."""
        place = f"{name}:{self.line}:{self.column}" if self.line else name
        return f"{place}: {self.text}" if place else self.text

    def show_with_caret(self, name: str) -> str:
        """The fault, the line it is in, and a caret under the place."""
        if not self.source.strip():
            return self.show(name)
        # Tabs stay tabs, so the caret stands right however wide they are shown.
        before = self.source[: self.caret]
        indent = "".join("\t" if c == "\t" else " " for c in before)
        return f"{self.show(name)}\n  {self.source}\n  {indent}^"


class PrototxtError(Exception):
    """A file cannot be used: what is wrong in it, where, and what to do.

    Attributes:
        path: the file's name as the user wrote it, or what stands for it.
        faults: all that is wrong, in the order of the file.
        offset: byte offset of the fault in a binary file, else None.
    """

    def __init__(
        self,
        faults: str | Fault | Iterable[Fault],
        path: str = "",
        offset: int | None = None,
    ) -> None:
        """Take one fault (a text will do) or several."""
        if isinstance(faults, str):
            faults = Fault(faults)
        if isinstance(faults, Fault):
            faults = (faults,)
        self.faults = tuple(faults)
        self.path = path
        self.offset = offset
        super().__init__(self._show())

    @property
    def line(self) -> int:
        """Line of the first fault, 0 if none is known."""
        return self.faults[0].line

    @property
    def column(self) -> int:
        """Column of the first fault, 0 if none is known."""
        return self.faults[0].column

    def _show(self) -> str:
        if self.offset is not None:
            return f"{self.path}, byte {self.offset}: {self.faults[0].text}"
        if len(self.faults) == 1:
            return self.faults[0].show_with_caret(self.path)
        listed = "\n".join(f"  {line}" for line in _listed(self.faults, self.path))
        return f"{self.path}: {len(self.faults)} faults\n{listed}"


def _listed(faults: Iterable[Fault], path: str) -> list[str]:
    """A line for each fault; those of one wording share the line of the first."""
    alike: dict[str, list[Fault]] = {}
    for fault in faults:
        alike.setdefault(fault.text, []).append(fault)
    return [group[0].show(path) + _also(group[1:]) for group in alike.values()]


def _also(faults: Sequence[Fault]) -> str:
    """Where else the same is wrong: the first few lines, and how many more."""
    if not faults:
        return ""
    lines = ", ".join(str(fault.line) for fault in faults[:_SHOWN])
    more = f" and {len(faults) - _SHOWN} more" if len(faults) > _SHOWN else ""
    return f" (also in line {lines}{more})"


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name most like `name`, whatever its case; None if none is close.

    >>> nearest("kernelsize", ["kernel_size", "stride"])
    'kernel_size'
    """
    names = {n.lower(): n for n in sorted(known)}
    close = difflib.get_close_matches(name.lower(), names, n=1)
    return names[close[0]] if close else None


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The half sentence that offers the nearest known name, or nothing."""
    close = nearest(name, known)
    return f"; did you mean {close!r}?" if close else ""
