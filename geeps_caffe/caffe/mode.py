"""What pycaffe sets for the whole process: mode, device, seed; and our engine."""

import logging
import os
from dataclasses import dataclass
from typing import NoReturn

from geeps_caffe.engines.table import count_gpus
from geeps_caffe.errors import UsageError
from geeps_caffe.layers import LAYERS
from geeps_caffe.paramserver.connect import place

_LOG = logging.getLogger(__name__)
TRAIN = 0
TEST = 1


@dataclass
class Mode:
    """Read when a net or solver is made."""

    gpu: bool = False
    device: int = 0
    seed: int | None = None
    engine: str | None = None  # None: the best that is there
    dtype: str = "float32"
    threads: int | None = None

    @property
    def chosen(self) -> str | None:
        """The engine to open: the one that is set, else the GPU in its mode."""
        if self.engine is None and self.gpu and count_gpus():
            return "cuda"
        return self.engine


MODE = Mode()  # pycaffe's interface is of the process, so this is


def set_mode_cpu() -> None:
    """Compute on the CPU."""
    MODE.gpu = False


def set_mode_gpu() -> None:
    """Compute on the GPU; where there is none that can be used, a warning says so."""
    if not count_gpus():
        _LOG.warning("set_mode_gpu, but there is no usable GPU: computing on the CPU")
    MODE.gpu = True


def set_device(device: int) -> None:
    """The GPU to use."""
    MODE.device = device


def set_random_seed(seed: int) -> None:
    """The seed of fillers, dropout and shuffling for nets made from now on."""
    MODE.seed = seed


def layer_type_list() -> list[str]:
    """The layer types that there are."""
    return sorted(LAYERS)


def has_nccl() -> bool:
    """Whether solvers of one process share gradients over GPUs: no.

    Several GPUs or hosts train together under `geeps-caffe train`.
    """
    return False


class NCCL:
    """pycaffe's name, for scripts that ask for it: they are told what to do instead.

    Raises:
        UsageError: always.
    """

    def __init__(self, solver: object, uid: object) -> None:
        del solver, uid
        self.new_uid()

    @staticmethod
    def new_uid() -> NoReturn:
        """Always a UsageError."""
        raise UsageError(
            "caffe.NCCL: a script has one solver, on one GPU; several, whose gradients "
            "NCCL adds up, train under geeps-caffe train -gpu all"
        )


def set_solver_count(count: int) -> None:
    """Say how many solvers train together; see `solver_count`.

    Raises:
        UsageError: others do.
    """
    if count != solver_count():
        raise UsageError(
            f"set_solver_count({count}): {solver_count()} train together here; several "
            "GPUs or hosts do under geeps-caffe train, see -gpu and -workers"
        )


def solver_count() -> int:
    """How many solvers train together: the job's workers; 1 alone."""
    return place(os.environ)[1]


def solver_rank() -> int:
    """Which of them this is, from 0: a Python layer reads its share of records."""
    return place(os.environ)[0]


def set_solver_rank(rank: int) -> None:
    """Say which of them this is; see `solver_rank`.

    Raises:
        UsageError: it is another.
    """
    if rank != solver_rank():
        raise UsageError(
            f"set_solver_rank({rank}): this is {solver_rank()} of {solver_count()}; "
            "see -gpu and -workers of geeps-caffe train"
        )


def set_multiprocess(several: bool) -> None:
    """Whether the solvers are processes; nothing depends on it."""
    del several


def set_engine(name: str | None, dtype: str = "float32") -> None:
    """The engine ("reference", "onednn", "cuda") and dtype of nets made from now on."""
    MODE.engine, MODE.dtype = name, dtype
