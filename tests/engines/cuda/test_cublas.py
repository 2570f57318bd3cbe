"""cuBLAS by its C interface, on a library of its name that the double loads."""

import ctypes
import gc

import numpy as np
import pytest

from geeps_caffe.device.backend import CudaDevice, GpuMissing
from geeps_caffe.engines.cuda.cublas import (
    Cublas,
    CublasError,
    find_cublas,
    open_cublas,
)
from geeps_caffe.engines.cuda.matrices import Matrices, Matrix
from geeps_caffe.errors import PlanError
from tests.cuda_double.blas import HANDLES
from tests.cuda_double.fixtures import double

__all__ = ["double"]


def matrix(device, values):
    return Matrix(device.to_device(np.array(values, np.float32)), *np.shape(values))


def test_products_are_captured_as_graphs(double):
    """What CuPy's own wrappers of cuBLAS refuse."""
    device = CudaDevice()
    a, b, c = (matrix(device, v) for v in ([[1, 2]], [[3], [4]], [[5]]))
    call = Matrices(open_cublas(device)).bind(a, b, c, add=True)
    launch = device.queues.bind_graph([call])
    assert device.to_host(c.array).tolist() == [[5]]
    launch()
    launch()
    assert device.to_host(c.array).tolist() == [[27]]


def test_a_handle_ends_with_what_calls_by_it(double):
    """Each takes memory of the device."""
    device = CudaDevice()
    before = set(HANDLES.made)
    a, b, c = (matrix(device, v) for v in ([[1, 2]], [[3], [4]], [[5]]))
    call = Matrices(open_cublas(device)).bind(a, b, c)
    gc.collect()
    assert len(set(HANDLES.made) - before) == 1
    call()
    assert device.to_host(c.array).tolist() == [[11]]
    del call
    gc.collect()
    assert not set(HANDLES.made) - before


def test_a_status_is_an_error_that_names_the_call(double):
    device = CudaDevice()
    little, stream = device.allocate(1 << 20), device.queues.stream("compute").ptr
    with pytest.raises(CublasError, match="cublasSetWorkspace_v2 ended with status 14"):
        Cublas(find_cublas(device.cupy), stream, little)


def test_where_no_memory_is_left_for_it_the_message_says_so(double):
    double.machine.room = 1 << 26
    message = (
        r"can't begin on GPU 0 \(cublasCreate_v2 .*\), of which 3,221.*-gpu_memory"
    )
    with pytest.raises(PlanError, match=message):
        open_cublas(CudaDevice())


def test_without_a_library_the_message_says_what_to_install(double):
    with pytest.raises(GpuMissing, match=r"no cuBLAS.*geeps-caffe\[cuda13\]"):
        find_cublas(double, ["libcublas.so.1"])


def test_extents_of_more_than_32_bits_are_refused(double):
    """ctypes would cut them off."""
    device = CudaDevice()
    long = Matrix(device.allocate(64).view(np.float32), 1, 1 << 31)
    square = Matrix(long.array, 1, 1)
    turned = Matrix(long.array, 1, 1 << 31, transposed=True)
    with pytest.raises(AssertionError):
        Matrices(open_cublas(device)).bind(long, turned, square)


def test_the_library_is_called_with_the_types_of_its_header(double):
    """Strides beyond 32 bits arrive whole."""
    library = find_cublas(double)
    assert library.cublasSgemm_v2.restype is ctypes.c_int
    device = CudaDevice()
    blas = open_cublas(device)
    kinds = blas.sgemm_batched.argtypes
    assert [kinds.index(ctypes.c_longlong), len(kinds), len(blas.sgemm.argtypes)] == [
        9,
        18,
        14,
    ]
