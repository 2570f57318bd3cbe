"""A stand-in for CuPy on the CPU: arrays of NumPy, kernels built for the host, streams
and events as queues. `make_cupy` gives a module of the few names that we use."""

from tests.cuda_double.machine import Machine
from tests.cuda_double.module import make_cupy

__all__ = ["Machine", "make_cupy"]
