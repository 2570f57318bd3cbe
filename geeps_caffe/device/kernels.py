"""The kernels of cuda_src/: read, compiled for the device at hand, and launched.

This is the one place that launches. CuPy (or PyCUDA) compiles a file when its first
kernel is bound and keeps the result on disk, by content, options and architecture.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, Protocol, TypeAlias

import numpy as np

from geeps_caffe.device.device import Call as Call
from geeps_caffe.errors import unknown

THREADS = 256  # a block; block reductions allow up to 1024
MOST_BLOCKS = 1 << 20  # kernels stride over the rest

#: Without fused multiply-add a kernel rounds as NumPy does, so a solver's update is
#: the same bit for bit on every engine; memory decides the speed of these kernels.
#: Numbers below the least normal one are 0: so CuPy compiles, whatever it is told.
OPTIONS = ("--fmad=false", "--ftz=true", "-std=c++17")

#: What a scalar of a kernel's signature becomes.
SCALARS: Mapping[str, type[np.generic]] = {
    "int": np.int32,
    "unsigned": np.uint32,
    "long long": np.int64,
    "float": np.float32,
}
#: What the arrays behind a pointer may hold.
ELEMENTS: Mapping[str, tuple[str, ...]] = {
    "int": ("int32",),
    "long long": ("int64",),
    "unsigned": ("uint32",),
    "float": ("float32",),
    "double": ("float64",),
    "unsigned char": ("uint8", "bool"),
}


class KernelError(TypeError):
    """A kernel was bound to what it doesn't take: a bug of ours."""


@dataclass(frozen=True)
class Parameter:
    """One parameter of a kernel; `type` is that of C without const and *."""

    name: str
    type: str
    pointer: bool
    constant: bool  # the kernel doesn't write what it points to


@dataclass(frozen=True)
class Signature:
    """A kernel as its file declares it; `by_block`: a block for each of n items."""

    kernel: str
    parameters: tuple[Parameter, ...]
    by_block: bool


class Function(Protocol):
    """A compiled kernel, called as CuPy calls it, on the current stream."""

    def __call__(
        self, grid: tuple[int, ...], block: tuple[int, ...], args: tuple[Any, ...]
    ) -> object:
        """Launch it."""


class Module(Protocol):
    """A compiled file."""

    def get_function(self, name: str) -> Function:
        """One of its kernels."""


Loader: TypeAlias = Callable[[str], Module]  # from the text of a file


class Kernels:
    """Kernels of one device; each file is compiled at most once."""

    def __init__(self, load: Loader) -> None:
        self._load = load
        self._modules: dict[str, Module] = {}

    def bind(self, file: str, kernel: str, n: int, *args: Any) -> Call:
        """A call that runs `kernel` over n elements (or items) on the current stream.

        Plain numbers become the types that the file declares; arrays stay as they
        are. Nothing is launched for n of 0.

        Raises:
            KernelError: arguments that the kernel does not take.
        """
        signature = find_signature(file, kernel)
        values = tuple(
            _argument(signature, parameter, value)
            for parameter, value in _paired(signature, (n, *args))
        )
        if n == 0:
            return _nothing
        blocks = n if signature.by_block else -(-n // THREADS)
        grid, block = (min(blocks, MOST_BLOCKS),), (THREADS,)
        function = self._function(file, kernel)
        return lambda: function(grid, block, values)

    def _function(self, file: str, kernel: str) -> Function:
        if file not in self._modules:
            self._modules[file] = self._load(read_source(file))
        return self._modules[file].get_function(kernel)


def pointer(array: Any) -> int:
    """Where a CuPy array starts on the device."""
    return int(array.data.ptr)


def _nothing() -> None:
    """What is left of a launch over no elements."""


# -- files -------------------------------------------------------------------------


def kernel_files() -> list[str]:
    """The names of all kernel files."""
    entries = resources.files("cuda_src").iterdir()
    return sorted(entry.name for entry in entries if entry.name.endswith(".cu"))


@cache
def read_source(name: str) -> str:
    """The text of a file of cuda_src/ with the headers that it includes in place.

    So a file needs no include path, and its text alone decides what is compiled.
    """
    return _expand(name, set())


def _expand(name: str, seen: set[str]) -> str:
    if name in seen:
        return ""
    seen.add(name)
    text = resources.files("cuda_src").joinpath(name).read_text("utf-8")
    text = text.replace("#pragma once\n", "")
    return re.sub(
        r'^#include "(.+)"$', lambda found: _expand(found[1], seen), text, flags=re.M
    )


# -- signatures --------------------------------------------------------------------

_KERNEL = re.compile(
    r'extern "C" __global__ void (\w+)\(([^)]*)\)\s*\{(.*?)^\}', re.S | re.M
)


@cache
def read_signatures(file: str) -> Mapping[str, Signature]:
    """The kernels of a file, by name."""
    return text_signatures(read_source(file))


def text_signatures(source: str) -> Mapping[str, Signature]:
    """The kernels in the text of a file, by name."""
    found = {}
    for name, parameters, body in _KERNEL.findall(source):
        parts = tuple(_parameter(part) for part in parameters.split(","))
        found[name] = Signature(name, parts, "BLOCK_LOOP(" in body)
    return found


def _parameter(text: str) -> Parameter:
    words = text.replace("*", " * ").split()
    kind = " ".join(w for w in words[:-1] if w not in ("const", "*"))
    return Parameter(words[-1], kind, "*" in words, "const" in words)


def find_signature(file: str, kernel: str) -> Signature:
    """A kernel's signature.

    Raises:
        KernelError: the file has no such kernel.
    """
    known = read_signatures(file)
    if kernel not in known:
        raise KernelError(f"{file}: " + unknown("kernel", kernel, known))
    return known[kernel]


def _paired(signature: Signature, args: tuple[Any, ...]) -> list[tuple[Parameter, Any]]:
    wanted = signature.parameters
    if len(args) != len(wanted):
        names = ", ".join(p.name for p in wanted)
        raise KernelError(
            f"{signature.kernel}: {len(args)} arguments; "
            f"expected {len(wanted)} ({names})"
        )
    return list(zip(wanted, args, strict=True))


def _argument(signature: Signature, parameter: Parameter, value: Any) -> Any:
    where = f"{signature.kernel}: {parameter.name}"
    if parameter.pointer:
        return _array(where, parameter, value)
    if not isinstance(value, int | float | np.generic):
        raise KernelError(f"{where} is {type(value).__name__}; expected a number")
    if parameter.type != "float" and int(value) != value:
        raise KernelError(f"{where} is {value}; expected a whole number")
    return SCALARS[parameter.type](value)


def _array(where: str, parameter: Parameter, value: Any) -> Any:
    if not hasattr(value, "dtype") or not hasattr(value, "flags"):
        raise KernelError(f"{where} is {type(value).__name__}; expected an array")
    allowed = ELEMENTS[parameter.type]
    if str(value.dtype) not in allowed:
        raise KernelError(
            f"{where} holds {value.dtype}; expected {' or '.join(allowed)}"
        )
    if not value.flags.c_contiguous:
        raise KernelError(f"{where} is not in C order without gaps")
    return value
