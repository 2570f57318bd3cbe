"""The GPU behind CuPy: opening it, its memory, and copies on queues of their own.

Here and in engines/cuda alone is CuPy imported, when a device is first used, so a
plan can be made on a machine that has neither.
"""

import importlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from geeps_caffe.device.array import Array, ArrayModule, aligned
from geeps_caffe.device.device import POISON, Call
from geeps_caffe.device.events import Segment, Step
from geeps_caffe.device.graphs import with_graphs
from geeps_caffe.device.kernels import OPTIONS, Kernels, Loader, Module, pointer
from geeps_caffe.device.nccl import NO_NCCL, find_nccl, nccl_version
from geeps_caffe.device.ordering import in_order
from geeps_caffe.device.streams import COMPUTE, COPY_IN, COPY_OUT, Queues
from geeps_caffe.errors import PlanError, UsageError, unknown

KERNEL_LOADERS = ("cupy", "pycuda")
_KEEPS = (
    "it keeps compiled kernels in ~/.cupy/kernel_cache, or where CUPY_CACHE_DIR says: "
    "that must be a folder which can be written"
)


class GpuMissing(UsageError):
    """There is no GPU that we can use; the message says what to install."""


def open_cupy() -> ArrayModule:
    """CuPy, with at least one device behind it.

    Raises:
        GpuMissing: CuPy is not installed, or there is no driver or no device.
    """
    try:
        cupy = importlib.import_module("cupy")
    except ImportError as error:
        raise GpuMissing(
            f"the cuda engine needs CuPy ({error}); pip install geeps-caffe[cuda13] "
            "(or geeps-caffe[cuda12] for drivers before 580)"
        ) from error
    except OSError as error:
        raise GpuMissing(f"CuPy can't be loaded ({error}); {_KEEPS}") from error
    try:
        devices = cupy.cuda.runtime.getDeviceCount()
    except RuntimeError as error:
        raise GpuMissing(
            f"CuPy finds no GPU ({error}); the cuda engine needs an NVIDIA driver, and "
            "pip install geeps-caffe[cuda13]; without one use --engine onednn"
        ) from error
    if not devices:
        raise GpuMissing("this machine has no NVIDIA GPU; use --engine onednn")
    return cupy


def gpu_names() -> list[str]:
    """Each GPU's name, architecture and memory; none where CuPy finds none."""
    try:
        runtime = open_cupy().cuda.runtime
    except GpuMissing:
        return []
    found = map(runtime.getDeviceProperties, range(runtime.getDeviceCount()))
    return [
        f"{gpu['name'].decode()} (sm_{gpu['major']}{gpu['minor']}), "
        f"{gpu['totalGlobalMem']:,} bytes"
        for gpu in found
    ]


def nccl_text() -> str:
    """The version of NCCL behind CuPy, or what to install; empty without a GPU."""
    try:
        nccl = find_nccl(open_cupy())
    except GpuMissing:
        return ""
    return NO_NCCL if nccl is None else nccl_version(nccl)


@dataclass(frozen=True)
class DeviceMemory:
    """Bytes of the device, as its driver counts them."""

    free: int
    total: int


class CudaDevice:
    """One GPU: its arenas, its queues, and the kernels compiled for it; see `Device`.

    Args:
        index: as CUDA counts devices.
        kernels: what compiles and launches them, one of KERNEL_LOADERS.
        cupy: given by tests; else what `open_cupy` finds.

    Raises:
        GpuMissing: see `open_cupy`.
    """

    on_host = False

    def __init__(
        self, index: int = 0, kernels: str = "cupy", cupy: ArrayModule | None = None
    ) -> None:
        self.cupy = cupy or open_cupy()
        self.index = index
        self.use()
        self.queues = Queues(self.cupy, blocking=kernels == "pycuda")
        self.captures = kernels != "pycuda"  # which launches on the default stream
        self._pinned: set[int] = set()  # where blocks of the host begin
        self.kernels = Kernels(find_loader(self.cupy, index, kernels))

    def use(self) -> None:
        """What this thread asks of CUDA from now on is about this GPU."""
        self.cupy.cuda.Device(self.index).use()

    # -- memory ----------------------------------------------------------------

    def allocate(self, nbytes: int) -> Array:
        """A zeroed block of bytes on the device: an arena. CuPy aligns it to 512.

        Raises:
            PlanError: the device has no room for it.
        """
        try:
            with self.running():
                block: Array = self.cupy.zeros(aligned(nbytes), np.uint8)[:nbytes]
        except MemoryError as error:
            raise self._full(nbytes) from error
        return block

    def _full(self, nbytes: int) -> PlanError:
        found = self.memory()
        return PlanError(
            f"GPU {self.index} has no room for {nbytes:,} bytes: {found.free:,} of its "
            f"{found.total:,} are free. -gpu_memory lets a step run in less (plan -gpu "
            f"{self.index} says how little will do); or make the batch smaller"
        )

    def allocate_pinned(self, nbytes: int) -> Array:
        """A zeroed NumPy block that the copy engines reach without a detour.

        Raises:
            PlanError: so much can't be locked in the host's memory.
        """
        if not nbytes:
            return np.zeros(0, np.uint8)
        self.use()  # this thread may be a new one
        try:
            memory = self.cupy.cuda.alloc_pinned_memory(nbytes)
        except RuntimeError as error:
            raise PlanError(
                f"{nbytes:,} bytes of the host's memory can't be locked for copies to "
                f"GPU {self.index} ({error}); with more -gpu_memory less has to wait "
                "there, or make the batch smaller"
            ) from error
        block = np.frombuffer(memory, np.uint8, nbytes)
        block[...] = 0
        return block

    def pin(self, block: Array) -> bool:
        """Lock memory of the host in place, so that copies need no detour.

        It fails where the system doesn't allow it; copies are staged by the driver
        then, and don't overlap with computing.
        """
        if not block.nbytes or block.ctypes.data in self._pinned:
            return True
        try:
            self.cupy.cuda.runtime.hostRegister(block.ctypes.data, block.nbytes, 0)
        except RuntimeError:
            return False
        self._pinned.add(block.ctypes.data)
        return True

    def unpin(self, block: Array) -> None:
        """Must come before memory that was pinned is given back."""
        if block.ctypes.data in self._pinned:
            self._pinned.remove(block.ctypes.data)
            self.synchronise()
            self.cupy.cuda.runtime.hostUnregister(block.ctypes.data)

    def memory(self) -> DeviceMemory:
        """What is free, and all there is."""
        return DeviceMemory(*self.cupy.cuda.runtime.memGetInfo())

    def to_host(self, array: Array) -> Array:
        """A copy on the host, after all work so far; itself if it is there."""
        with self.running():
            self.synchronise()
            copied: Array = self.cupy.asnumpy(array)
        return copied

    def to_device(self, array: Array) -> Array:
        """A copy on the device, there when this returns."""
        with self.running():
            copied: Array = self.cupy.asarray(np.ascontiguousarray(array))
        return copied

    def write(self, target: Array, source: Array) -> None:
        """Overwrite an array of either side, after all work on it so far."""
        self.synchronise()
        if isinstance(target, self.cupy.ndarray):
            source = self.to_device(source)
        with self.running():
            target[...] = source

    @contextmanager
    def running(self) -> Iterator[None]:
        """All that CuPy starts within goes to the queue of computing."""
        self.use()  # this thread may be a new one
        with self.queues.on(COMPUTE):
            try:
                yield
            finally:
                self.synchronise()

    # -- calls of a plan -------------------------------------------------------

    def bind_copy_in(self, host: Array, device: Array) -> Call:
        """Start a copy of a pinned block to the device, on the copy-in queue."""
        kind = self.cupy.cuda.runtime.memcpyHostToDevice
        pointers = (pointer(device), host.ctypes.data)
        return self._copy(pointers, (host, device), kind, COPY_IN)

    def bind_copy_out(
        self, device: Array, host: Array, *, poison: bool = False
    ) -> Call:
        """Start a copy of a block of the device to a pinned one, on copy-out.

        With `poison` the block is overwritten with NaN then, so that a read of what
        has left shows.
        """
        kind = self.cupy.cuda.runtime.memcpyDeviceToHost
        pointers = (host.ctypes.data, pointer(device))
        copy = self._copy(pointers, (host, device), kind, COPY_OUT)
        if not poison:
            return copy
        stream, fill = self.queues.stream(COPY_OUT), self.cupy.cuda.runtime.memsetAsync

        def copy_and_poison() -> None:
            copy()
            fill(pointer(device), POISON, device.nbytes, stream.ptr)

        return copy_and_poison

    def start_copy_in(self, host: Array, device: Array) -> Call:
        """Start a copy of pinned memory on the copy-in queue; see `Device`."""
        queues = self.queues
        before, after = queues.event(), queues.event()
        queues.bind_record(COMPUTE, before)()
        queues.bind_wait(COPY_IN, before)()
        self.bind_copy_in(host, device)()
        queues.bind_record(COPY_IN, after)()
        return queues.bind_wait(COMPUTE, after)

    def _copy(
        self, pointers: tuple[int, int], kept: Sequence[Array], kind: int, queue: str
    ) -> Call:
        host, device = kept
        assert host.nbytes == device.nbytes, "a copy of unlike sizes"
        nbytes, stream = host.nbytes, self.queues.stream(queue)
        copy, (target, source) = self.cupy.cuda.runtime.memcpyAsync, pointers

        def start(kept: Sequence[Array] = kept) -> None:
            copy(target, source, nbytes, kind, stream.ptr)

        return start

    def in_order(self, steps: Sequence[Step], calls: Sequence[Call]) -> list[Call]:
        """The calls with the events that order what they share between queues."""
        return in_order(steps, calls, self.queues)

    def with_graphs(
        self, segments: Sequence[Segment], steps: Sequence[Step], calls: Sequence[Call]
    ) -> list[Call]:
        """A call for each segment, what is captured being one launch.

        Raises:
            RuntimeError: CUDA refuses to capture something.
        """
        with self.running():
            return with_graphs(segments, steps, calls, self.queues)

    def synchronise(self) -> None:
        """Wait until all queues have run dry."""
        self.queues.synchronise()


# -- loaders -----------------------------------------------------------------------


def find_loader(cupy: ArrayModule, index: int, name: str) -> Loader:
    """What compiles kernel files.

    Raises:
        UsageError: there is no such loader.
        GpuMissing: PyCUDA was asked for and is not there.
    """
    if name not in KERNEL_LOADERS:
        raise UsageError(unknown("kernel loader", name, KERNEL_LOADERS))
    return _pycuda_loader(index) if name == "pycuda" else _cupy_loader(cupy)


def _cupy_loader(cupy: ArrayModule) -> Loader:
    def load(source: str) -> Module:
        module: Any = cupy.RawModule(code=source, options=OPTIONS, backend="nvrtc")
        try:
            module.compile()  # now, not at the first launch
        except OSError as error:
            raise UsageError(f"CuPy can't keep a kernel ({error}); {_KEEPS}") from error
        except (ImportError, RuntimeError) as error:
            raise UsageError(
                f"CuPy can't compile kernels ({error}); it needs the NVRTC that "
                "pip install geeps-caffe[cuda13] brings (or [cuda12])"
            ) from error
        compiled: Module = module
        return compiled

    return load


def _pycuda_loader(index: int) -> Loader:
    pycuda = importlib.import_module("geeps_caffe.device.pycuda_module")
    loader: Loader = pycuda.make_loader(index)
    return loader
