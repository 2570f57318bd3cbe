"""Compiles kernel files for the host, and keeps the libraries by content."""

import ctypes
import hashlib
import os
import re
import subprocess
from functools import cache
from pathlib import Path

import numpy as np

from geeps_caffe.device.kernels import (
    SCALARS,
    THREADS,
    Kernels,
    find_signature,
    read_signatures,
    read_source,
    text_signatures,
)

SHIM = Path(__file__).with_name("shim.h")
FLAGS = ("-std=c++17", "-O2", "-ffp-contract=off", "-fPIC", "-shared", "-w")


def cache_folder(name):
    """Where compiled files are kept from run to run."""
    root = os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache"))
    folder = Path(root) / "geeps-caffe" / name
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@cache
def library(source):
    """The shared library of a kernel file's text."""
    text = host_text(source)
    key = hashlib.sha256("\n".join((text, SHIM.read_text(), *FLAGS)).encode())
    path = cache_folder("host-kernels") / f"{key.hexdigest()[:24]}.so"
    if not path.exists():
        made = path.with_suffix(f".{os.getpid()}")
        subprocess.run(
            ["g++", *FLAGS, "-x", "c++", "-include", str(SHIM), "-", "-o", str(made)],
            input=text.encode(),
            check=True,
        )
        made.rename(path)
    return ctypes.PyDLL(str(path))  # keeps the lock: the shim's state is global


def host_text(source):
    """The file with a function `launch_NAME(blocks, threads, first, last, args)`
    for each kernel."""
    plain = source.replace('extern "C" __global__', "__global__")
    return plain + "".join(
        _launcher(name, parameters, body)
        for name, parameters, body in re.findall(
            r'extern "C" __global__ void (\w+)\(([^)]*)\)\s*\{(.*?)^\}',
            source,
            re.S | re.M,
        )
    )


def _launcher(name, parameters, body):
    kinds = [
        re.match(r"(.*?)\s*\w+$", p.strip(), re.S)[1] for p in parameters.split(",")
    ]
    values = ", ".join(f"*({kind}*)args[{i}]" for i, kind in enumerate(kinds))
    barriers = "true" if re.search(r"block_(sum|max)|__sync", body) else "false"
    return f"""
extern "C" void launch_{name}(unsigned blocks, unsigned threads, unsigned first,
                              unsigned last, void** args) {{
  host::run_grid({barriers}, blocks, threads, first, last, [&] {{ {name}({values}); }});
}}
"""


class HostFunction:
    """A kernel on the host, called as CuPy calls one on a device."""

    def __init__(self, source, name):
        self.name = name
        self._launch = getattr(library(source), f"launch_{name}")

    def __call__(self, grid, block, args, first=0, last=None):
        values = [_value(arg) for arg in args]
        row = (ctypes.c_void_p * len(values))(*(ctypes.addressof(v) for v in values))
        last = grid[0] if last is None else last
        self._launch(grid[0], block[0], first, last, row)


def _value(arg):
    if isinstance(arg, np.ndarray):
        return ctypes.c_void_p(arg.ctypes.data)
    return np.ctypeslib.as_ctypes_type(arg.dtype)(arg.item())


class HostModule:
    """A compiled file."""

    def __init__(self, source):
        self._source = source

    def get_function(self, name):
        return HostFunction(self._source, name)


def parameters_of(source, kernel):
    """The parameters of a kernel in a file's text."""
    return text_signatures(source)[kernel].parameters


def host_kernels():
    """The kernels as `geeps_caffe.device.kernels` offers them, on the host."""
    return Kernels(HostModule)


def run(file, kernel, n, *args):
    """Launch a kernel over NumPy arrays."""
    host_kernels().bind(file, kernel, n, *args)()


def run_tail(file, kernel, n, *args):
    """Only the block that does the last element of a huge n."""
    signature = find_signature(file, kernel)
    kinds = list(signature.parameters)
    values = [
        v if p.pointer else SCALARS[p.type](v)
        for p, v in zip(kinds, (n, *args), strict=True)
    ]
    blocks = n if signature.by_block else -(-n // THREADS)
    function = HostFunction(read_source(file), kernel)
    function((blocks,), (THREADS,), values, blocks - 1, blocks)


__all__ = ["cache_folder", "host_kernels", "read_signatures", "run", "run_tail"]
