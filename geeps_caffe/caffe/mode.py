"""What pycaffe sets for the whole process: mode, device, seed; and our engine."""

from dataclasses import dataclass

from geeps_caffe.engines.table import count_gpus

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
    """Compute on the GPU, where there is one."""
    MODE.gpu = True


def set_device(device: int) -> None:
    """The GPU to use."""
    MODE.device = device


def set_random_seed(seed: int) -> None:
    """The seed of fillers, dropout and shuffling for nets made from now on."""
    MODE.seed = seed


def set_engine(name: str | None, dtype: str = "float32") -> None:
    """The engine ("reference", "onednn", "cuda") and dtype of nets made from now on."""
    MODE.engine, MODE.dtype = name, dtype
