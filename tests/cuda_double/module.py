"""The module that takes CuPy's place."""

from functools import wraps
from types import ModuleType, SimpleNamespace

import numpy as np

from geeps_caffe.device.kernels import Parameter
from tests.cuda_double.arrays import DeviceArray, own, plain, span
from tests.cuda_double.blas import Blas
from tests.cuda_double.machine import Event, Machine, Runtime, Stream
from tests.cuda_src.build import HostModule, parameters_of

#: What NumPy has and CuPy 14 has not, among what layers might use.
MISSING = frozenset(
    [
        "asmatrix",
        "block",
        "errstate",
        "frompyfunc",
        "geterr",
        "matrix",
        "matvec",
        "memmap",
        "ndenumerate",
        "nditer",
        "nested_iters",
        "recarray",
        "seterr",
        "spacing",
        "unstack",
        "vecdot",
        "vecmat",
    ]
)
#: These make a copy on the device of what they are given.
COPIERS = ("array", "asarray", "ascontiguousarray")


class Cupy(ModuleType):
    """NumPy's functions on arrays of one machine, and the parts of CUDA."""

    ndarray = DeviceArray

    def __init__(self, machine):
        super().__init__("cupy")
        self.machine = machine
        self.cuda = _cuda(machine)
        self.lib = SimpleNamespace(
            stride_tricks=SimpleNamespace(
                as_strided=self._wrapped(np.lib.stride_tricks.as_strided)
            )
        )

    def __getattr__(self, name):
        if name in MISSING or name.startswith("_"):
            raise AttributeError(f"module 'cupy' has no attribute {name!r}")
        found = getattr(np, name)
        if isinstance(found, type | np.ufunc) or not callable(found):
            return found
        return self._wrapped(found)

    def _wrapped(self, function):
        copies = function.__name__ in COPIERS

        @wraps(function)
        def run(*args, **options):
            if copies and not isinstance(args[0], DeviceArray):
                result = np.array(*args, **options)
            elif copies or function.__name__ == "as_strided":
                result = function(*plain(args), **plain(options))
            else:
                self._refuse([*args, *options.values()])
                result = function(*args, **options)
            return own(result, self.machine)

        return run

    def _refuse(self, values):
        """CuPy's functions take no arrays of the host."""
        for value in values:
            if isinstance(value, tuple | list):
                self._refuse(value)
            elif isinstance(value, np.ndarray) and self.machine.strict:
                raise TypeError("a function of CuPy got an array of the host")

    def asnumpy(self, array):
        return array.get() if isinstance(array, DeviceArray) else np.asarray(array)

    def RawModule(self, code, options, backend):
        return Module(self.machine, code)


class Module:
    """A kernel file, built for the host."""

    def __init__(self, machine, code):
        self.machine, self.code, self.host = machine, code, HostModule(code)

    def get_function(self, name):
        function = self.host.get_function(name)
        parameters = parameters_of(self.code, name)

        def launch(grid, block, args):
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


def _cuda(machine):
    def stream(non_blocking=False):
        machine.streams.append(Stream(machine))
        return machine.streams[-1]

    return SimpleNamespace(
        runtime=Runtime(machine),
        Device=lambda index: SimpleNamespace(use=lambda: None),
        Stream=stream,
        Event=Event,
        get_current_stream=lambda: machine.current[-1],
        alloc_pinned_memory=bytearray,
        cublas=Blas(machine),
        device=SimpleNamespace(get_cublas_handle=lambda: 1),
    )


def make_cupy(machine=None):
    """A module to put in the place of CuPy."""
    return Cupy(machine or Machine())
