"""Writes down what CuPy offers and how it is called: `facts.txt` beside this file.

    python -m tests.cuda_double.record > tests/cuda_double/facts.txt

It needs CuPy installed but no GPU: compiled functions tell their parameters in their
first line of documentation, and those of NCCL in the library's file, since it can't be
loaded without what it wraps.
"""

import inspect
import re
from pathlib import Path

import numpy as np

#: Of cupy.cuda, as far as we call it.
CUDA = {
    "runtime": """memcpyAsync memsetAsync memGetInfo getDeviceCount hostRegister
        hostUnregister getDeviceProperties runtimeGetVersion""",
    "Stream": "__init__ begin_capture end_capture is_capturing record wait_event "
    "synchronize",
    "Event": "__init__ record synchronize",
    "Graph": "launch",
    "Device": "use",
    "": "alloc_pinned_memory get_current_stream",
}
NCCL = (
    "get_version",
    "get_unique_id",
    "NcclCommunicator",
    "NcclCommunicator.reduce",
    "NcclCommunicator.broadcast",
    "NcclCommunicator.allReduce",
    "NcclCommunicator.abort",
    "NcclCommunicator.destroy",
    "NcclCommunicator.device_id",
    "NcclCommunicator.rank_id",
)


def facts(cupy):
    """All lines, sorted by what they are about."""
    yield f"version {cupy.__version__}"
    compiler = inspect.getsource(cupy.cuda.compiler._compile_with_cache_cuda)
    for option in re.findall(r"^    options \+= \('(.*)',\)", compiler, re.M):
        yield f"option {option}"
    for name in sorted(n for n in dir(np) if not n.startswith("_")):
        if not hasattr(cupy, name):
            yield f"missing {name}"
        elif (found := _python(getattr(cupy, name))) is not None:
            yield f"function {name}({found})"
    for name in sorted(n for n in dir(cupy.ndarray) if not n.startswith("_")):
        found = documented(getattr(cupy.ndarray, name))
        yield f"array {name}" + (f"({found})" if found is not None else "")
    yield from _cuda(cupy)


def _cuda(cupy):
    for owner, names in CUDA.items():
        place = getattr(cupy.cuda, owner) if owner else cupy.cuda
        for name in names.split():
            found = documented(getattr(place, name))
            yield f"cuda {owner}.{name}({found})".replace(" .", " ")
    yield f"cuda RawModule({documented(cupy.RawModule)})"
    yield f"cuda RawModule.compile({documented(cupy.RawModule.compile)})"
    yield f"cuda RawKernel.__call__({documented(cupy.RawKernel.__call__)})"
    assert _library(cupy, "cublas")
    yield "cuda cublas"
    text = _library(cupy, "nccl")
    for name in NCCL:
        found = re.search(rf"(?<![\w.]){re.escape(name)}\(([^)]*)\)", text)[1]
        yield f"cuda nccl.{name}({plain(found)})"


def _library(cupy, name):
    folder = Path(cupy.__file__).parents[1] / "cupy_backends" / "cuda" / "libs"
    (library,) = folder.glob(f"{name}.*.so")
    return library.read_bytes().decode("latin-1")


def _python(function):
    """The parameters of a function in Python; None for others."""
    if not inspect.isfunction(function):
        return None
    text = str(inspect.signature(function, eval_str=False))
    return show(inspect.signature(function)) if text else None


def documented(function):
    """The parameters of a compiled function, by its documentation; None if untold."""
    line = (function.__doc__ or "").split("\n")[0]
    found = re.match(r"[\w.]+\((.*)\)", line)
    return None if found is None else plain(found[1])


def plain(text):
    """Parameters without types and values: `a, b=, *, c=`."""
    parts = [part.strip() for part in re.split(r",(?![^\[(]*[\])])", text)]
    names = []
    for part in parts:
        name, equals, _ = part.partition("=")
        words = name.split(":")[0].split()
        if words and words[-1] != "self":
            names.append(words[-1] + equals)
    return ", ".join(names)


def show(signature):
    """A signature in the same words."""
    text, keyword = [], False
    for parameter in signature.parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and not keyword:
            text.append("*")
        keyword = keyword or parameter.kind in (
            parameter.KEYWORD_ONLY,
            parameter.VAR_POSITIONAL,
        )
        stars = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}
        given = parameter.default is not parameter.empty
        text.append(stars.get(parameter.kind, "") + parameter.name + "=" * given)
    return ", ".join(text)


if __name__ == "__main__":
    import cupy

    print("\n".join(facts(cupy)))
