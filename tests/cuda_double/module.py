"""The module that takes CuPy's place."""

import weakref
from functools import wraps
from types import ModuleType, SimpleNamespace

import numpy as np

from geeps_caffe.device.kernels import Parameter
from tests.cuda_double.arrays import DeviceArray, own, plain, span
from tests.cuda_double.blas import load
from tests.cuda_double.facts import check, known, version
from tests.cuda_double.machine import Event, Graph, Machine, Runtime, Stream
from tests.cuda_double.nccl import Nccl
from tests.cuda_src.build import HostModule, parameters_of

#: These make a copy on the device of what they are given.
COPIERS = ("array", "asarray", "ascontiguousarray")
#: These take no memory.
VIEWING = ("as_strided", "broadcast_to", "expand_dims", "moveaxis", "reshape")


class Cupy(ModuleType):
    """NumPy's functions on arrays of one machine, and the parts of CUDA."""

    ndarray = DeviceArray

    def __init__(self, machine):
        super().__init__("cupy")
        self.machine = machine
        self.__version__ = version()
        self.cuda = _cuda(machine)
        self.lib = SimpleNamespace(
            stride_tricks=SimpleNamespace(
                as_strided=self._wrapped(np.lib.stride_tricks.as_strided)
            )
        )

    def __getattr__(self, name):
        if name in known("missing") or name.startswith("_"):
            raise AttributeError(f"module 'cupy' has no attribute {name!r}")
        found = getattr(np, name)
        if isinstance(found, type | np.ufunc) or not callable(found):
            return found
        return self._wrapped(found)

    def _wrapped(self, function):
        copies = function.__name__ in COPIERS

        @wraps(function)
        def run(*args, **options):
            if function.__name__ in known("function"):
                check("function", function.__name__, args, options)
            if self.machine.capturing and function.__name__ not in VIEWING:
                self.machine.touch([], [], function.__name__)
            if copies and not isinstance(args[0], DeviceArray):
                result = np.array(*args, **options)
            elif copies or function.__name__ == "as_strided":
                result = function(*plain(args), **plain(options))
            else:
                self._refuse([*args, *options.values()])
                result = function(*args, **options)
            if function.__name__ == "zeros" and result.nbytes > self.machine.room:
                raise MemoryError(f"Out of memory allocating {result.nbytes:,} bytes")
            return own(result, self.machine)

        return run

    def _refuse(self, values):
        """CuPy's functions take no arrays of the host."""
        for value in values:
            if isinstance(value, tuple | list):
                self._refuse(value)
            elif isinstance(value, np.ndarray) and self.machine.strict:
                raise TypeError("a function of CuPy got an array of the host")

    def asnumpy(self, a, stream=None, order="C", out=None, *, blocking=True):
        return a.get() if isinstance(a, DeviceArray) else np.asarray(a)

    def RawModule(
        self,
        code=None,
        *,
        path=None,
        options=(),
        backend="nvrtc",
        translate_cucomplex=False,
        enable_cooperative_groups=False,
        name_expressions=None,
        jitify=False,
    ):
        assert isinstance(code, str) and isinstance(options, tuple), "CuPy wants these"
        return Module(self.machine, code)


class Module:
    """A kernel file, built for the host."""

    def __init__(self, machine, code):
        self.machine, self.code, self.host = machine, code, HostModule(code)

    def compile(self, log_stream=None):
        """It is."""

    def get_function(self, name):
        function = self.host.get_function(name)
        parameters = parameters_of(self.code, name)

        def launch(grid, block, args, *, shared_mem=0):
            assert all(isinstance(part, tuple) for part in (grid, block, args))
            spans = _spans(parameters, args)
            values = [plain(arg) for arg in args]
            run = lambda: function(grid, block, values)  # noqa: E731
            self.machine.submit(run, *spans, name)

        return launch


def _spans(parameters: tuple[Parameter, ...], args):
    """Bytes read, and bytes written; a host array is an error, as it is on a GPU."""
    reads, writes = [], []
    for parameter, arg in zip(parameters, args, strict=True):
        if parameter.pointer:
            assert isinstance(arg, DeviceArray), f"{parameter.name} is on the host"
            (reads if parameter.constant else writes).append(span(arg))
    return reads, writes


class Pinned(bytearray):
    """cupy.cuda.PinnedMemoryPointer: a buffer; a subclass, so that it has an end."""


def _cuda(machine):
    def make_stream(null=False, non_blocking=False, ptds=False, priority=None):
        machine.streams.append(Stream(machine))
        return machine.streams[-1]

    def get_current_stream(device_id=-1):
        return machine.current[-1]

    def alloc_pinned_memory(size):
        if size > machine.room:
            raise RuntimeError("cudaErrorMemoryAllocation: out of memory")
        block = Pinned(size)
        start = np.frombuffer(block, np.uint8).ctypes.data
        machine.pin(start, start + size)
        weakref.finalize(block, machine.unpin, start).atexit = False
        return block

    class Device:
        """cupy.cuda.Device."""

        def __init__(self, device=None):
            self.id = machine.device if device is None else device
            assert self.id < machine.devices, "cudaErrorInvalidDevice"

        def use(self):
            machine.device = self.id
            return self

    class Cuda(SimpleNamespace):
        """cupy.cuda; libraries are loaded when they are asked for."""

        @property
        def cublas(self):
            return load(machine)

    return Cuda(
        runtime=Runtime(machine),
        Device=Device,
        Stream=make_stream,
        Event=Event,
        Graph=Graph,
        get_current_stream=get_current_stream,
        alloc_pinned_memory=alloc_pinned_memory,
        nccl=Nccl(machine),
    )


def make_cupy(machine=None):
    """A module to put in the place of CuPy."""
    return Cupy(machine or Machine())
