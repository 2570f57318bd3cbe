"""NCCL by way of CuPy: the GPUs of one host add arrays up among themselves.

Each worker holds one GPU. One of them makes a *ticket*, all join with it, and then all
make the same calls in the same order. A call is work on a queue like any other: it is
done when all GPUs have come to it. If one never comes the others' queues stand still,
until `abort`.
"""

import importlib
import threading
import warnings
from collections.abc import Sequence
from typing import Any, Protocol

from geeps_caffe.device.array import Array, ArrayModule
from geeps_caffe.device.device import Call
from geeps_caffe.device.kernels import pointer
from geeps_caffe.device.streams import COPY_OUT, Queues
from geeps_caffe.errors import UsageError

TICKET_BYTES = 128  # NCCL_UNIQUE_ID_BYTES
FIRST = 0  # the worker that gets the sums
NO_NCCL = "CuPy finds no NCCL (pip install geeps-caffe[nccl])"


class Gpu(Protocol):
    """What is needed of a `backend.CudaDevice`."""

    cupy: ArrayModule
    queues: Queues

    def use(self) -> None:
        """What this thread asks of CUDA from now on is about this GPU."""


def find_nccl(cupy: ArrayModule) -> Any:
    """CuPy's module of NCCL; None where its library is not installed."""
    nccl = getattr(cupy.cuda, "nccl", None)  # once it was imported
    try:
        with warnings.catch_warnings():  # which tell of a library that is missing
            warnings.simplefilter("ignore")
            nccl = nccl or importlib.import_module("cupy.cuda.nccl")
    except ImportError:
        return None
    return nccl if nccl.available else None


def nccl_version(nccl: Any) -> str:
    """As people write it.

    >>> from types import SimpleNamespace
    >>> nccl_version(SimpleNamespace(get_version=lambda: 22707))
    '2.27.7'
    """
    number = nccl.get_version()
    return f"{number // 10000}.{number // 100 % 100}.{number % 100}"


def new_ticket(nccl: Any) -> bytes:
    """What all that join must have; CuPy 13 gives it as signed numbers."""
    return bytes(number & 0xFF for number in nccl.get_unique_id())


def _as_cupy_takes_it(cupy: ArrayModule, ticket: bytes) -> bytes | tuple[int, ...]:
    if int(cupy.__version__.partition(".")[0]) >= 14:
        return ticket
    return tuple(number - 256 if number > 127 else number for number in ticket)


class GpuRing:
    """This worker's GPU among those of its host's workers.

    Args:
        device: this worker's own.
        ticket: of `new_ticket`, the same for all.
        place: of this worker; all from 0 to `size` - 1 are taken. It waits for all.

    Raises:
        UsageError: NCCL can't connect the GPUs.
    """

    def __init__(self, device: Gpu, ticket: bytes, place: int, size: int) -> None:
        self.place, self.size = place, size
        self._device, self._nccl = device, find_nccl(device.cupy)
        self._lock, self._over = threading.Lock(), False
        device.use()
        try:
            given = _as_cupy_takes_it(device.cupy, ticket)
            self._all = self._nccl.NcclCommunicator(size, given, place)
        except RuntimeError as error:
            raise UsageError(
                f"NCCL can't connect the {size} GPUs of this host ({error}); "
                "NCCL_DEBUG=WARN says more, -gpu_reduce host does without it"
            ) from error

    @property
    def text(self) -> str:
        """What becomes of gradients, for the log."""
        version = nccl_version(self._nccl)
        return (
            f"the {self.size} GPUs of this host add their gradients up by NCCL "
            f"{version}, and one copies the sums out"
        )

    @property
    def first(self) -> bool:
        """Whether this worker gets the sums."""
        return self.place == FIRST

    def bind_sum(self, array: Array) -> Call:
        """What adds up all workers' float32 arrays, in that of the first.

        It is handed to the copy-out queue; what it holds on the others is as before.
        """
        nccl, at, count = self._nccl, pointer(array), array.nbytes // 4
        stream = self._device.queues.stream(COPY_OUT)

        def start(kept: Array = array) -> None:
            del kept
            if self._over:
                return
            try:
                self._all.reduce(
                    at, at, count, nccl.NCCL_FLOAT32, nccl.NCCL_SUM, FIRST, stream.ptr
                )
            except RuntimeError:
                if not self._over:  # `abort` may come in between
                    raise

        return start

    def abort(self) -> None:
        """End all sums under way, here; from any thread, since others may be stuck."""
        with self._lock:
            if not self._over:
                self._over = True
                self._device.use()
                self._all.abort()

    def close(self, *, failed: bool = False) -> None:
        """Leave in peace, once all queues have run dry; or without waiting for any."""
        if failed:
            self.abort()
        with self._lock:
            if not self._over:
                self._over = True
                self._all.destroy()


def ticket_numbers(ticket: bytes) -> list[float]:
    """A ticket as whole numbers, of 48 bits each, that floats hold exactly."""
    pieces: Sequence[bytes] = [ticket[i : i + 6] for i in range(0, TICKET_BYTES, 6)]
    return [float(int.from_bytes(piece)) for piece in pieces]


def read_ticket(numbers: Sequence[float]) -> bytes:
    """The ticket of such numbers."""
    sizes = [min(6, TICKET_BYTES - i) for i in range(0, TICKET_BYTES, 6)]
    pairs = zip(numbers, sizes, strict=True)
    return b"".join(int(number).to_bytes(size) for number, size in pairs)
