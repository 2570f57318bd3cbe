"""Do the GPUs of this machine add arrays up? One thread for each GPU."""

import threading
from collections.abc import Callable, Iterator
from functools import partial
from typing import TypeAlias

import numpy as np

from geeps_caffe.device.array import Array
from geeps_caffe.device.backend import CudaDevice
from geeps_caffe.device.nccl import GpuRing, find_nccl, new_ticket
from geeps_caffe.engines.cuda.engine import CudaEngine

#: What is checked; and the check, which says "ok" or what is wrong.
Outcome: TypeAlias = tuple[str, Callable[[], str]]

SIZES = (1, 1_000, 30_000_000)  # floats
PATIENCE = 60.0  # seconds for all GPUs to end


def sums(engine: CudaEngine, only: str) -> Iterator[Outcome]:
    """Arrays of some sizes, added up in place on the first GPU."""
    count = engine.xp.cuda.runtime.getDeviceCount()
    for size in SIZES:
        name = f"{size:,} floats over {count} GPUs"
        if only in name:
            yield name, partial(_check, engine, count, size)


def _check(engine: CudaEngine, count: int, size: int) -> str:
    nccl = find_nccl(engine.xp)
    if nccl is None:
        return "CuPy finds no NCCL: pip install geeps-caffe[nccl]"
    ticket, found = new_ticket(nccl), ["no end"] * count
    given = np.random.default_rng(1).standard_normal((count, size), np.float32)

    def run(place: int) -> None:
        try:
            found[place] = _sum(place, ticket, given)
        except Exception as error:
            found[place] = f"GPU {place}: {type(error).__name__}: {error}"

    threads = [
        threading.Thread(target=run, args=(place,), daemon=True)
        for place in range(count)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    return next((text for text in found if text != "ok"), "ok")


def _sum(place: int, ticket: bytes, given: Array) -> str:
    """One GPU's part; after an abort nothing is added any more."""
    device = CudaDevice(place)
    ring = GpuRing(device, ticket, place, len(given))
    array = device.to_device(given[place])
    add = ring.bind_sum(array)
    add()
    device.synchronise()
    ring.abort()
    add()
    wanted = given.sum(axis=0, dtype=np.float64) if ring.first else given[place]
    worst = float(np.abs(device.to_host(array) - wanted).max())
    return "ok" if worst < 1e-5 else f"GPU {place} is off by {worst:g}"
