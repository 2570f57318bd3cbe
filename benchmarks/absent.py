"""Lets modules be imported that name libraries which a bare machine has not.

Reading databases and pictures needs lmdb and OpenCV; nothing that is measured or
checked on a GPU does. In their place stands what says so when it is used. All other
libraries that may be missing are imported where they are needed.
"""

import importlib.util
import sys
from types import ModuleType

OPTIONAL = ("cv2", "lmdb")
SETTINGS = ("cv2.setNumThreads",)  # that all readers make


class Absent(ModuleType):
    """A library that is not here; its names are `Nothing`."""

    def __getattr__(self, name: str) -> "Nothing":
        if name.startswith("__"):
            raise AttributeError(name)
        made = Nothing(sum(name.encode()))  # constants of a library differ
        made.what = f"{self.__name__}.{name}"
        setattr(self, name, made)
        return made


class Nothing(int):
    """A number, since modules keep constants when they are imported; no function."""

    what = ""

    def __call__(self, *args: object, **options: object) -> None:
        """Settings change nothing where there is nothing; all else is missing."""
        if self.what in SETTINGS:
            return
        raise ImportError(f"{self.what} was called, but the library is not installed")


def stand_in() -> list[str]:
    """Put an `Absent` in the place of each that is missing; returns their names."""
    missing = [name for name in OPTIONAL if not _is_here(name)]
    for name in missing:
        sys.modules[name] = Absent(name)
    return missing


def _is_here(name: str) -> bool:
    if name in sys.modules:
        return sys.modules[name] is not None
    return importlib.util.find_spec(name) is not None
