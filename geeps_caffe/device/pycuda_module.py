"""Kernel files through PyCUDA, for users whose own layers are written with it.

PyCUDA shares CuPy's primary context, so arrays of either are arrays of both. It
launches on the default stream; the queues are made to wait for that one then.
"""

import atexit
import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

from geeps_caffe.device.backend import GpuMissing
from geeps_caffe.device.kernels import OPTIONS, Function, Loader, Module


class PyCudaModule:
    """A file compiled by PyCUDA, which keeps the result on disk."""

    def __init__(self, source: str, compiler: Any) -> None:
        self._module = compiler.SourceModule(
            source, no_extern_c=True, options=list(OPTIONS)
        )

    def get_function(self, name: str) -> Function:
        """A kernel, called as CuPy calls its own."""
        launch = self._module.get_function(name)

        def run(
            grid: tuple[int, ...], block: tuple[int, ...], args: tuple[Any, ...]
        ) -> None:
            values = [a if isinstance(a, np.generic) else address(a) for a in args]
            launch(*values, grid=(*grid, 1, 1)[:3], block=(*block, 1, 1)[:3])

        return run


def address(array: Any) -> np.uintp:
    """Where an array of either library starts on the device."""
    return np.uintp(array.__cuda_array_interface__["data"][0])


def make_loader(
    index: int, at_exit: Callable[[Callable[[], object]], object] = atexit.register
) -> Loader:
    """A loader in the primary context of a device.

    Args:
        index: as CUDA counts devices.
        at_exit: is given what must come before the process ends: PyCUDA aborts it
            where a context is still on its stack.

    Raises:
        GpuMissing: PyCUDA is not installed or finds no driver.
    """
    try:
        driver = importlib.import_module("pycuda.driver")
        compiler = importlib.import_module("pycuda.compiler")
    except ImportError as error:
        raise GpuMissing(
            f"--kernels pycuda needs PyCUDA ({error}); pip install "
            "geeps-caffe[pycuda], with the CUDA toolkit and a driver at hand"
        ) from error
    driver.init()
    context = driver.Device(index).retain_primary_context()
    context.push()
    at_exit(context.pop)

    def load(source: str) -> Module:
        return PyCudaModule(source, compiler)

    return load
