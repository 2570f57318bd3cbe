"""Which workers add their gradients up on their GPUs, before one hands the sums in.

The workers of a host do so where each holds a GPU and CuPy has NCCL; otherwise each
hands its gradients in, and the host's agent adds them up in shared memory. What a
table's clock becomes is the same. All is decided from one sum over all workers, of one
*letter* each: whether its writer is willing, and the ticket of its host's first worker.
"""

import logging
from collections.abc import Callable, Sequence

from geeps_caffe.config.job import RunSettings
from geeps_caffe.device.backend import CudaDevice
from geeps_caffe.device.nccl import (
    NO_NCCL,
    GpuRing,
    find_nccl,
    new_ticket,
    read_ticket,
    ticket_numbers,
)
from geeps_caffe.engines.engine import Engine
from geeps_caffe.errors import UsageError
from geeps_caffe.paramserver import Client

_LOG = logging.getLogger(__name__)

LINE = 23  # numbers of one host in a letter: who is willing, and a ticket's 22


def join_gpus(
    client: Client, settings: RunSettings, engine: Engine, *, shown: bool
) -> GpuRing | None:
    """This worker's place among GPUs that add gradients up; None: they do not.

    All workers of the job must call it, before the tables are made.

    Args:
        shown: whether someone looks at each worker's gradients.

    Raises:
        UsageError: NCCL was asked for and can't be used; says why.
    """
    if client.ranks == 1:
        return None
    device = engine.device
    why = obstacle(settings, device if isinstance(device, CudaDevice) else None, shown)
    if why and isinstance(device, CudaDevice) and settings.local[1] > 1:
        _LOG.info("gradients are added up in the host's memory: %s", why)
    if why and settings.gpu_reduce == "nccl":
        raise UsageError(f"-gpu_reduce nccl: {why}; give -gpu_reduce host")
    willing = not why and isinstance(device, CudaDevice)
    place, size = settings.local

    def ticket() -> bytes:
        assert isinstance(device, CudaDevice)
        return new_ticket(find_nccl(device.cupy))

    mine = write_letter(client.rank, client.ranks, place, ticket if willing else None)
    found = read_letter(client.total(mine), client.rank - place, size)
    if found is None or not isinstance(device, CudaDevice):
        return None
    ring = GpuRing(device, found, place, size)
    client.when_over(ring.abort)
    return ring


def obstacle(settings: RunSettings, device: CudaDevice | None, shown: bool) -> str:
    """Why this worker can't add gradients up with others of its host; or nothing."""
    _, size = settings.local
    if settings.gpu_reduce == "host":
        return "-gpu_reduce is host"
    if device is None:
        return "this worker computes on the CPU"
    if size == 1:
        return "this worker is the only one of its host"
    if settings.gpus < size:
        return f"{size} workers share {settings.gpus} GPUs"
    if settings.slack:
        return "workers that add up together can't be in different clocks (-slack)"
    if settings.update == "worker":
        return "with -update worker no gradients are handed in"
    if shown or settings.keep_all:
        return "each worker's own gradients are shown (debug_info, or Python)"
    if find_nccl(device.cupy) is None:
        return NO_NCCL
    return ""


def write_letter(
    rank: int, ranks: int, place: int, ticket: Callable[[], bytes] | None
) -> list[float]:
    """One worker's letter, to be added to those of all others.

    A host's numbers stand at the place of its first worker's rank.

    Args:
        place: of the worker on its host.
        ticket: makes one; None: the worker is not willing.
    """
    letter = [0.0] * (LINE * ranks)
    if ticket is not None:
        start = LINE * (rank - place)
        letter[start] = 1.0
        if place == 0:
            letter[start + 1 : start + LINE] = ticket_numbers(ticket())
    return letter


def read_letter(total: Sequence[float], first: int, size: int) -> bytes | None:
    """The ticket of a host's workers, if all of them are willing.

    Args:
        total: all letters, added up.
        first: the rank of the host's first worker.
        size: how many workers the host has.
    """
    willing, *numbers = total[LINE * first : LINE * (first + 1)]
    return read_ticket(numbers) if willing == size > 1 else None
