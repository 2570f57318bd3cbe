"""CudaEngine: describes passes from shapes alone, and binds them to GPU arrays."""

from collections.abc import Mapping
from functools import cached_property, partial

import numpy as np
import numpy.typing as npt

from geeps_caffe.device.array import Array, ArrayModule, Shape
from geeps_caffe.device.backend import CudaDevice
from geeps_caffe.device.ordering import in_turn
from geeps_caffe.engines.cuda import OPERATIONS, Entry
from geeps_caffe.engines.cuda.cublas import open_cublas
from geeps_caffe.engines.cuda.cudnn import open_cudnn
from geeps_caffe.engines.cuda.functions import KernelFunctions
from geeps_caffe.engines.cuda.kit import Kit, Pass
from geeps_caffe.engines.cuda.matrices import Matrices
from geeps_caffe.engines.cuda.random_bits import RandomBits
from geeps_caffe.engines.cuda.updates import CudaUpdates
from geeps_caffe.engines.engine import (
    Call,
    Description,
    Draw,
    Lanes,
    Layout,
    Request,
    SavedArray,
)
from geeps_caffe.engines.functions import Functions
from geeps_caffe.engines.reference import DEFINITIONS
from geeps_caffe.engines.reference.engine import ReferenceEngine
from geeps_caffe.engines.reference.functions import ArrayFunctions


class CudaEngine:
    """One NVIDIA GPU, float32, all arrays plain.

    `describe` needs neither a device nor CuPy; the device is opened when `device` or
    `xp` is first asked for, and GpuMissing is raised then if there is none.
    """

    name = "cuda"
    lanes: Lanes | None = None

    def __init__(
        self, threads: int | None = None, index: int = 0, kernels: str = "cupy"
    ) -> None:
        self.threads = threads  # of layers that compute on the host
        self._index, self._kernels = index, kernels
        self._reference = ReferenceEngine()

    @cached_property
    def device(self) -> CudaDevice:
        """The GPU; opened at first use."""
        return CudaDevice(self._index, self._kernels)

    @cached_property
    def xp(self) -> ArrayModule:
        """CuPy."""
        return self.device.cupy

    @cached_property
    def updates(self) -> CudaUpdates:
        """The solvers' rules as kernels."""
        return CudaUpdates(self.device)

    @cached_property
    def draw(self) -> Draw:
        """Random bits by a kernel."""
        return RandomBits(self.device).draw

    def functions(self, dtype: npt.DTypeLike) -> Functions:
        """Kernels for float32; array code on CuPy for others."""
        if np.dtype(dtype) != np.float32:
            return ArrayFunctions(self.xp)
        return self._functions

    @cached_property
    def _functions(self) -> KernelFunctions:
        return KernelFunctions(self.device)

    @cached_property
    def _kit(self) -> Kit:
        matrices, cudnn = Matrices(open_cublas(self.device)), open_cudnn(self.xp)
        return Kit(self.xp, self.device.kernels, matrices, cudnn)

    def describe(self, request: Request) -> Description | None:
        """Ports as the reference has them, and what the kernels need besides.

        None, so that the definition runs as array-module code, for other dtypes,
        empty arrays, windows over more than three axes and operations without kernels.
        """
        entry = OPERATIONS.get(type(request.operation))
        if entry is None or np.dtype(request.dtype) != np.float32:
            return None
        if not entry.accepts(request):
            return None
        if any(0 in shape or not shape for shape in request.shapes.values()):
            return None
        plain = self._reference.describe(request)
        if plain is None:
            return None
        ports = dict(plain.layouts)
        ports = {p: x for p, x in ports.items() if not p.startswith("saved")}
        saved = self._saved(entry, request)
        ports |= {f"saved{i}": Layout("plain", s.nbytes) for i, s in enumerate(saved)}
        kept = saved if request.direction == "forward" else ()
        scratch = entry.scratch(request)
        return Description(ports, kept, scratch, entry.implementation)

    def _saved(self, entry: Entry, request: Request) -> tuple[SavedArray, ...]:
        if not (request.training or request.direction == "backward"):
            return ()
        if entry.saved is not None:
            return entry.saved
        definition = DEFINITIONS[type(request.operation)]
        return definition.saved(request.operation, request.shapes, 4)

    def bind(
        self,
        request: Request,
        description: Description,
        arrays: Mapping[str, Array],
        scratch: Array | None,
    ) -> Call:
        """The launches of the pass, on the stream that is current when it is called."""
        entry = OPERATIONS[type(request.operation)]
        ports = {port: self._own(port, arrays[port]) for port in description.layouts}
        floats = None if scratch is None else self._own("scratch", scratch)
        if floats is not None:
            floats = floats.view(np.float32)
        work = Pass(self._kit, request, ports, floats)
        forward = request.direction == "forward"
        return in_turn((entry.forward if forward else entry.backward)(work))

    def _own(self, port: str, array: Array) -> Array:
        on_device = isinstance(array, self.xp.ndarray)
        assert on_device, f"{port} is not on the GPU"
        return array

    def rows_layout(self, shape: Shape, layout: Layout, rows: int) -> Layout | None:
        """None: a table on the device is updated as a whole, by one kernel."""

    def bind_momentum(
        self,
        weights: Array,
        grad: Array,
        history: Array,
        momentum: float,
        *,
        exact: bool = False,
    ) -> None:
        """Tables on the device have `updates`; those on the host NumPy's rules."""

    def bind_reorder(
        self,
        shape: Shape,
        source: tuple[Array, Layout],
        target: tuple[Array, Layout],
        dtype: npt.DTypeLike,
    ) -> Call:
        """A copy, within the device or between it and the host: all is plain."""
        del dtype
        assert source[1].plain and target[1].plain, "there is one layout here"
        read, written = source[0].reshape(shape), target[0].reshape(shape)
        return partial(self._copy, read, written)

    def _copy(self, source: Array, target: Array) -> None:
        """Within the device on the current stream; else in step with the host."""
        on_device = self.xp.ndarray
        if isinstance(source, on_device) == isinstance(target, on_device):
            target[...] = source
        elif isinstance(source, on_device):
            target[...] = self.device.to_host(source)
        else:
            self.device.write(target, source)
