"""cuBLAS, as far as we call it, by NumPy: a shared library of its name, as C has it.

It is built once and loaded when the double is asked for cuBLAS, as CuPy loads the real
one. Its functions come back here.
"""

import ctypes
import hashlib
import os
import subprocess
import traceback
from functools import cache, wraps
from pathlib import Path

import numpy as np
from numpy.lib.stride_tricks import as_strided

from tests.cuda_src.build import cache_folder

NAME = "libcublas.so.13"
SOURCE = Path(__file__).with_name("libcublas.cpp")
FLAGS = ("-std=c++17", "-fPIC", "-shared", f"-Wl,-soname,{NAME}")
INTERNAL_ERROR = 14

_INT, _LONG, _AT = ctypes.c_int, ctypes.c_longlong, ctypes.c_void_p
_MATRIX = (_AT, _INT, _LONG)
_HOOKS = {
    "create": (ctypes.POINTER(_AT),),
    "destroy": (_AT,),
    "set_stream": (_AT, _AT),
    "set_workspace": (_AT, _AT, ctypes.c_size_t),
    "multiply": (_AT, *[_INT] * 5, _AT, *_MATRIX, *_MATRIX, _AT, *_MATRIX, _INT),
}
_TYPES = {name: ctypes.CFUNCTYPE(_INT, *types) for name, types in _HOOKS.items()}


class Hooks(ctypes.Structure):
    _fields_ = list(_TYPES.items())


class Handles:
    """All that there are: each belongs to the machine that was asked last."""

    def __init__(self):
        self.count, self.made, self.machine = 0, {}, None

    def create(self, handle):
        assert self.machine.room > 1 << 26, "the memory of a handle"
        self.count += 1
        handle[0] = self.count
        self.made[self.count] = Blas(self.machine)

    def destroy(self, handle):
        del self.made[handle]

    def set_stream(self, handle, stream):
        self.made[handle].set_stream(stream)

    def set_workspace(self, handle, workspace, size):
        assert workspace and size >= 4 << 20, "too little for cuBLAS"

    def multiply(self, handle, *args):
        self.made[handle].multiply(*args)


HANDLES = Handles()


def load(machine):
    """See that the library is in this process; handles will be those of `machine`."""
    HANDLES.machine = machine
    return _library()


@cache
def _library():
    key = hashlib.sha256(f"{SOURCE.read_text()}{FLAGS}".encode()).hexdigest()
    path = cache_folder("cublas-double") / f"{key[:24]}.so"
    if not path.exists():
        made = path.with_suffix(f".{os.getpid()}")
        command = ["g++", *FLAGS, str(SOURCE), "-o", str(made)]
        subprocess.run(command, check=True)
        made.rename(path)
    library = ctypes.CDLL(str(path))
    library.kept = Hooks(**{n: t(_status(n)) for n, t in _TYPES.items()})
    target = Hooks.in_dll(library, "hooks")
    ctypes.memmove(
        ctypes.byref(target), ctypes.byref(library.kept), ctypes.sizeof(target)
    )
    return library


def _status(name):
    """C knows no exceptions: what is raised is printed, and is a status."""
    call = getattr(HANDLES, name)

    @wraps(call)
    def run(*args):
        try:
            call(*args)
        except Exception:
            traceback.print_exc()
            return INTERNAL_ERROR
        return 0

    return run


class Blas:
    """What a handle stands for."""

    def __init__(self, machine):
        self.machine, self.stream = machine, machine.null

    def set_stream(self, ptr):
        self.stream = self.machine.stream_at(ptr)

    def multiply(
        self,
        transa,
        transb,
        m,
        n,
        k,
        alpha,
        A,
        lda,
        strideA,
        B,
        ldb,
        strideB,
        beta,
        C,
        ldc,
        strideC,
        batchCount,
    ):
        """C = alpha op(A) op(B) + beta C, in columns, for g matrices."""
        ta, tb, g = transa, transb, batchCount
        a, b, c, sa, sb, sc = A, B, C, strideA, strideB, strideC
        alpha, beta = _number(alpha), _number(beta)
        spans = [
            _span(at, (k, m) if t else (m, k), ld, step, g)
            for at, t, ld, step, (m, k) in (
                (a, ta, lda, sa, (m, k)),
                (b, tb, ldb, sb, (k, n)),
                (c, 0, ldc, sc, (m, n)),
            )
        ]

        def run():
            left = _matrix(a, (k, m) if ta else (m, k), lda, sa, g)
            right = _matrix(b, (n, k) if tb else (k, n), ldb, sb, g)
            out = _matrix(c, (m, n), ldc, sc, g)
            left = left.swapaxes(1, 2) if ta else left
            right = right.swapaxes(1, 2) if tb else right
            product = alpha * np.matmul(left, right)
            out[...] = product + beta * out if beta else product

        what = "matrix product"
        self.machine.submit(run, spans[:2], spans[2:], what, self.stream)


def _number(at):
    return np.float32(ctypes.c_float.from_address(at).value)


def _extent(shape, ld, step, batch):
    rows, columns = shape
    return (batch - 1) * step + (columns - 1) * ld + rows


def _span(at, shape, ld, step, batch):
    return at, at + 4 * _extent(shape, ld, step, batch)


def _matrix(at, shape, ld, step, batch):
    size = _extent(shape, ld, step, batch)
    flat = np.frombuffer((ctypes.c_float * size).from_address(at), np.float32)
    return as_strided(flat, (batch, *shape), (4 * step, 4, 4 * ld))
