"""What to do: everything a run needs besides the solver's own file."""

from dataclasses import dataclass, field

from geeps_caffe.config.grouping import Grouping
from geeps_caffe.config.made_up import MadeUp
from geeps_caffe.config.param_cache import ParamCache


@dataclass(frozen=True)
class RunSettings:
    """How a solver is run here; nothing in it changes what Caffe would compute.

    (But for `batch_mode` and `reduce`, which say what several workers mean.)
    """

    engine: str | None = None  # None: the best that is there
    dtype: str = "float32"
    threads: int | None = None
    data_threads: int = 0  # of each source of records; 0: some
    gpu: int = 0  # of the cuda engine
    kernels: str = "cupy"  # what compiles and launches kernels, or "pycuda"
    memory: int | None = None  # bytes of the arena; None: as many as it takes
    staged: int = 0  # bytes of a GPU that are taken beside the arena
    share: bool | None = None
    poison: bool = False
    param_cache: ParamCache | None = None  # None: params are used where they lie
    plain_tables: bool = False  # params in C order, for workers of several engines
    #: The device whose costs a budget is planned by, or "measured"; empty: by bytes.
    costs: str = ""
    graphs: bool = True  # launch what never changes as CUDA graphs, on a GPU
    recompute: bool = True  # cheap layers, where costs say that it is faster
    warning_level: int = 0  # GeePS's mm_warning_level: what must not be lost
    without: tuple[str, ...] = ()  # passes over the plan that are left out
    rank: int = 0
    ranks: int = 1
    #: This worker's place among those of its agent, from 0, and how many these are.
    local: tuple[int, int] = (0, 1)
    gpus: int = 1  # that those take turns with
    gpu_reduce: str = "auto"  # where their gradients are added up: "nccl" or "host"
    batch_mode: str = "per-worker"  # or "global": batch_size is shared out
    reduce: str = "mean"  # or "sum", as the original GeePS
    batchnorm: str = "local"  # or "sync": statistics of all workers' batches
    test_on: str = "all"  # ranks that share a test's batches; or "first"
    slack: int = 0  # clocks that a worker may be ahead of the slowest; -1: no bound
    grouping: Grouping = field(default_factory=Grouping)
    overlap: bool = True  # tables travel while other layers compute
    update: str = "shard"  # who runs the solver's rule; or "worker", as GeePS did
    times: bool = False  # measure each layer
    own_data: bool = False  # each worker's files name a database of its own
    keep_momentum: bool = True  # of a solver state that is restored
    seed: int | None = None  # None: the solver's random_seed, or the clock
    level: int = 0
    stages: tuple[str, ...] = ()
    made_up: MadeUp | None = None  # records in place of those of data layers
    keep_all: bool = False  # every blob stays readable (solvers used from Python)
