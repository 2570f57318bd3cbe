"""GeePS-Caffe's files for each worker: `name.N`, and `name.template` with % for N.

They are not needed here: all workers read one solver, one net and one database. Where
a set-up has them, they are taken.
"""

import re
from dataclasses import dataclass
from pathlib import Path

_NUMBERED = re.compile(r"(?P<base>.+)\.(?P<number>\d+)$")


@dataclass(frozen=True)
class FoundFile:
    """The file behind a name; `number` replaces % in its text, if there is one."""

    path: Path
    number: str | None = None
    own: bool = False  # made for one worker

    def expand(self, text: str) -> str:
        """The text of the file as the worker is to see it."""
        return text if self.number is None else text.replace("%", self.number)


def find_file(name: str, worker: int | None = None) -> FoundFile:
    """The file of this name, or what stands for it; `name` itself if nothing does.

    Args:
        name: as given, with or without a worker's number at its end.
        worker: this worker's number, if it is known.
    """
    path = Path(name)
    if path.exists():
        return FoundFile(path, own=_NUMBERED.match(name) is not None)
    match = _NUMBERED.match(name)
    base = match["base"] if match else name
    number = match["number"] if match else None if worker is None else str(worker)
    if number is not None and Path(f"{base}.{number}").exists():
        return FoundFile(Path(f"{base}.{number}"), own=True)
    if number is not None and Path(f"{base}.template").exists():
        return FoundFile(Path(f"{base}.template"), number, own=True)
    if match and Path(base).exists():
        return FoundFile(Path(base))
    return FoundFile(path)
