"""Finding and opening oneDNN's shared library.

Looked for, in this order: the file that GEEPS_CAFFE_LIBDNNL names; `libdnnl.so.3` of
this Python's environment (there the wheel `onednn-cpu-gomp` and conda put it); of the
wheel's place under a user's site; then whatever the system's loader finds.
"""

import ctypes
import os
import site
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from geeps_caffe.engines.onednn.constants import ISA_NAMES, Runtime
from geeps_caffe.errors import GeepsCaffeError

VARIABLE = "GEEPS_CAFFE_LIBDNNL"
ADVICE = (
    "pip install onednn-cpu-gomp (x86-64 Linux) or name a libdnnl.so.3 "
    f"in the environment variable {VARIABLE}"
)
_SONAMES = ("libdnnl.so.3", "libdnnl.3.dylib", "dnnl.dll")
_RUNTIMES = Runtime.SEQUENTIAL | Runtime.OPENMP | Runtime.TBB


class OneDnnError(GeepsCaffeError):
    """oneDNN can't be used here, or refused a call."""


class OneDnnMissing(OneDnnError):
    """There is no oneDNN on this machine; the reference engine does without."""


@dataclass(frozen=True)
class Version:
    """What a library says about itself."""

    number: tuple[int, int, int]
    runtime: int
    isa: str  # the widest vector instructions that it will use here

    @property
    def text(self) -> str:
        """For messages: `3.2.0, AVX-512 BF16`."""
        return ".".join(map(str, self.number)) + f", {self.isa}"


class _VersionStruct(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_int),
        ("minor", ctypes.c_int),
        ("patch", ctypes.c_int),
        ("hash", ctypes.c_char_p),
        ("cpu_runtime", ctypes.c_uint),
        ("gpu_runtime", ctypes.c_uint),
    ]


def candidates(environment: Mapping[str, str] = os.environ) -> Iterator[str]:
    """Paths and names to try, best first; a named file is the only candidate."""
    named = environment.get(VARIABLE)
    if named:
        yield named
        return
    for prefix in dict.fromkeys((sys.prefix, sys.base_prefix, site.getuserbase())):
        for soname in _SONAMES:
            path = Path(prefix) / "lib" / soname
            if path.is_file():
                yield str(path)
    yield from _SONAMES


def open_library(environment: Mapping[str, str] = os.environ) -> ctypes.CDLL:
    """The first candidate that the loader opens and that is of version 3 or later.

    Raises:
        OneDnnMissing: none was found.
        OneDnnError: the file is not oneDNN, too old, or of a build we can't drive.
    """
    faults = []
    for name in candidates(environment):
        try:
            library = ctypes.CDLL(name)
        except OSError as error:
            faults.append(f"{name}: {error}")
            continue
        check_version(library, name)
        return library
    found = "; ".join(faults)
    raise OneDnnMissing(f"oneDNN was not found ({found}); {ADVICE}")


def check_version(library: ctypes.CDLL, name: str) -> Version:
    """The version of an open library; an error for one that we can't drive."""
    try:
        version = read_version(library)
    except AttributeError as error:
        raise OneDnnError(f"{name} is not oneDNN ({error}); {ADVICE}") from error
    if version.number[0] < 3:
        raise OneDnnError(
            f"{name} is oneDNN {version.text}; expected version 3 or later: {ADVICE}"
        )
    if not version.runtime & _RUNTIMES:
        raise OneDnnError(
            f"{name} is oneDNN for runtime {Runtime(version.runtime)!r}; expected "
            f"one built for OpenMP, TBB or one thread: {ADVICE}"
        )
    return version


def read_version(library: ctypes.CDLL) -> Version:
    """What the library says about itself; AttributeError where it is not oneDNN."""
    library.dnnl_version.restype = ctypes.POINTER(_VersionStruct)
    said = library.dnnl_version().contents
    isa = library.dnnl_get_effective_cpu_isa()
    return Version(
        (said.major, said.minor, said.patch),
        said.cpu_runtime,
        ISA_NAMES.get(isa, f"instruction set {isa:#x}"),
    )
