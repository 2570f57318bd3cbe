"""The engines by name, and the choice among them."""

import logging
from collections.abc import Callable
from functools import cache

from geeps_caffe.config.job import RunSettings
from geeps_caffe.device.backend import gpu_names
from geeps_caffe.engines.engine import Engine
from geeps_caffe.engines.onednn.engine import OneDnnEngine
from geeps_caffe.engines.onednn.library import OneDnnMissing
from geeps_caffe.engines.reference.engine import ReferenceEngine
from geeps_caffe.errors import UsageError, unknown

_LOG = logging.getLogger(__name__)


def _cuda(threads: int | None, gpu: int, kernels: str) -> Engine:
    """Its kernels' tables are large, and most machines have no GPU."""
    from geeps_caffe.engines.cuda.engine import CudaEngine  # noqa: PLC0415

    return CudaEngine(threads, gpu, kernels)


#: Made from the number of threads, the number of a GPU and what compiles for it.
ENGINES: dict[str, Callable[[int | None, int, str], Engine]] = {
    "reference": lambda threads, gpu, kernels: ReferenceEngine(threads),
    "onednn": lambda threads, gpu, kernels: OneDnnEngine(threads),
    "cuda": _cuda,
}


def open_engine(
    name: str | None = None,
    threads: int | None = None,
    advise: Callable[[str], object] | None = None,
    *,
    gpu: int = 0,
    kernels: str = "cupy",
) -> Engine:
    """The engine called `name`; without a name the fastest of this machine's CPU.

    Where that is not what it could be, `advise` is called with one line for the user;
    without it the line is logged, once.

    Raises:
        UsageError: there is no such engine.
        OneDnnError: oneDNN was asked for and is not there, or is one we can't drive.
    """
    if name is not None:
        if name not in ENGINES:
            raise UsageError(unknown("engine", name, ENGINES))
        return ENGINES[name](threads, gpu, kernels)
    try:
        return OneDnnEngine(threads)
    except OneDnnMissing as missing:
        (advise or _warn_once)(f"computing with NumPy, many times slower: {missing}")
        return ReferenceEngine(threads)


@cache
def _warn_once(advice: str) -> None:
    _LOG.warning("%s", advice)


def engine_of(settings: RunSettings) -> Engine:
    """The engine of a run."""
    return open_engine(
        settings.engine,
        settings.threads,
        gpu=settings.gpu,
        kernels=settings.kernels,
    )


def count_gpus() -> int:
    """How many GPUs the cuda engine could use here."""
    return len(gpu_names())
