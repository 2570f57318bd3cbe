"""cuBLAS by its C interface: the library that CuPy has loaded, on a handle of our own.

CuPy's wrappers refuse each call while a stream is captured, which cuBLAS itself allows.
So no step with a matrix product could be launched as a CUDA graph.
"""

import ctypes
import os
import weakref
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from geeps_caffe.device.array import Array, ArrayModule
from geeps_caffe.device.backend import CudaDevice, GpuMissing
from geeps_caffe.device.kernels import pointer
from geeps_caffe.device.streams import COMPUTE
from geeps_caffe.errors import PlanError

LIBRARIES = ("libcublas.so.13", "libcublas.so.12")
NO_TRANSPOSE, TRANSPOSE = 0, 1  # CUBLAS_OP_N, CUBLAS_OP_T
#: Bytes that products may use for themselves, as much as NVIDIA advises for any GPU.
#: What cuBLAS took by itself in a capture would be nodes of the graph.
WORKSPACE = 32 << 20

_INT, _LONG, _AT = ctypes.c_int, ctypes.c_longlong, ctypes.c_void_p
_HEAD = (_AT, *[_INT] * 5, _AT)  # handle, two transposes, m, n, k, alpha
_SIGNATURES: Mapping[str, tuple[Any, ...]] = {
    "cublasCreate_v2": (ctypes.POINTER(_AT),),
    "cublasDestroy_v2": (_AT,),
    "cublasSetStream_v2": (_AT, _AT),
    "cublasSetWorkspace_v2": (_AT, _AT, ctypes.c_size_t),
    "cublasSgemm_v2": (*_HEAD, _AT, _INT, _AT, _INT, _AT, _AT, _INT),
    "cublasSgemmStridedBatched": (
        *_HEAD,
        *(_AT, _INT, _LONG),
        *(_AT, _INT, _LONG),
        _AT,
        *(_AT, _INT, _LONG),
        _INT,
    ),
}


class CublasError(RuntimeError):
    """A call ended with a status other than 0; cublas_api.h names them."""


class Cublas:
    """Calls on one stream, with scalars on the host, and TF32 off as it is by default.

    The handle, and the memory that cuBLAS has taken for it, end with the object.

    Args:
        library: cuBLAS.
        stream: its address.
        workspace: bytes on the device, aligned to 256.

    Attributes:
        handle: the first argument of all calls.
        sgemm: cublasSgemm.
        sgemm_batched: cublasSgemmStridedBatched.
    """

    def __init__(self, library: ctypes.CDLL, stream: int, workspace: Array) -> None:
        calls = {name: _call(library, name) for name in _SIGNATURES}
        handle = ctypes.c_void_p()
        calls["cublasCreate_v2"](ctypes.byref(handle))
        weakref.finalize(self, calls["cublasDestroy_v2"], handle).atexit = False
        calls["cublasSetStream_v2"](handle, stream)
        size = workspace.nbytes
        calls["cublasSetWorkspace_v2"](handle, pointer(workspace), size)
        self._kept = workspace
        self.handle = handle
        self.sgemm = calls["cublasSgemm_v2"]
        self.sgemm_batched = calls["cublasSgemmStridedBatched"]


def _call(library: ctypes.CDLL, name: str) -> Callable[..., object]:
    function = getattr(library, name)
    function.argtypes = _SIGNATURES[name]
    function.errcheck = _checked
    checked: Callable[..., object] = function
    return checked


def _checked(status: int, function: Any, args: object) -> None:
    del args
    if status:
        raise CublasError(f"{function.__name__} ended with status {status}")


def open_cublas(device: CudaDevice) -> Cublas:
    """cuBLAS for the queue of computing.

    Raises:
        GpuMissing: CuPy finds no cuBLAS.
        PlanError: cuBLAS can't begin, most often as all memory is taken.
    """
    library = find_cublas(device.cupy)
    workspace = device.allocate(WORKSPACE)
    try:
        return Cublas(library, device.queues.stream(COMPUTE).ptr, workspace)
    except CublasError as error:
        raise PlanError(
            f"cuBLAS can't begin on GPU {device.index} ({error}), of which "
            f"{device.memory().free:,} bytes are free; it takes some beside what "
            "-gpu_memory allows"
        ) from error


def find_cublas(cupy: ArrayModule, names: Sequence[str] = LIBRARIES) -> ctypes.CDLL:
    """The library that is in this process once CuPy has been asked for it.

    Raises:
        GpuMissing: there is none.
    """
    why = "none is loaded"
    try:
        assert cupy.cuda.cublas is not None
    except ImportError as error:
        why = str(error)
    for name in names:
        with suppress(OSError):
            return ctypes.CDLL(name, os.RTLD_NOW | os.RTLD_NOLOAD)
    raise GpuMissing(
        f"CuPy finds no cuBLAS ({why}); pip install geeps-caffe[cuda13] (or [cuda12]) "
        "brings it"
    )
