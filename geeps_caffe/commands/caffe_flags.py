"""The flags of `caffe`, of glog, and our own, for the commands that run nets.

gflags are of the whole program: each of these commands accepts every flag.
"""

from geeps_caffe.config.flags import CommandLine, Flag, parse
from geeps_caffe.config.ps_config import ps_config_flags
from geeps_caffe.errors import UsageError

_EFFECTS = ("stop", "snapshot", "none")
_EFFECT_HELP = "What to do on a %s signal: stop, snapshot or none"

CAFFE = (
    Flag("solver", "", "The solver definition, a prototxt file"),
    Flag("model", "", "The model definition, a prototxt file"),
    Flag("phase", "", "TRAIN or TEST; used by 'time' and 'plan'"),
    Flag("level", 0, "The network level that include and exclude rules see"),
    Flag("stage", "", "Network stages for the rules, separated by ','"),
    Flag("snapshot", "", "A solver state (.solverstate) to go on from"),
    Flag(
        "weights",
        "",
        "Weights (.caffemodel) to begin with, separated by ','; not with -snapshot",
    ),
    Flag("iterations", 50, "How many iterations to run"),
    Flag("gpu", "", "GPUs to use: numbers separated by ',' or 'all'"),
    Flag("sigint_effect", "stop", _EFFECT_HELP % "SIGINT", choices=_EFFECTS),
    Flag("sighup_effect", "snapshot", _EFFECT_HELP % "SIGHUP", choices=_EFFECTS),
)

OURS = (
    Flag(
        "engine",
        "",
        "onednn, reference or cuda; empty: the GPU that -gpu or the solver names if "
        "there is one, else the fastest of the CPU",
    ),
    Flag(
        "kernels",
        "cupy",
        "What compiles and launches kernels on a GPU",
        choices=("cupy", "pycuda"),
    ),
    Flag(
        "dtype",
        "float32",
        "What to compute in; float64 only on the reference engine",
        choices=("float32", "float64"),
    ),
    Flag("memory", "", "Most memory of a step: such as 3GB, or 50% of what it asks"),
    Flag("gpu_memory", "", "As -memory: the most memory of a device, in GeePS's words"),
    Flag(
        "param_cache",
        "",
        "Params in the arena: off, pinned or swapped; for some as table=pinned,...",
    ),
    Flag(
        "costs",
        "",
        "Plan by time: measured, or of a device k20c, a100, h200, cpu; empty: by bytes",
    ),
    Flag("cuda_graphs", True, "On a GPU: launch what never changes as CUDA graphs"),
    Flag("recompute", True, "With -costs: run cheap layers twice where that is faster"),
    Flag(
        "mm_warning_level",
        0,
        "Refuse plans without: 1 double buffering, 2 all arrays, 3 all params there",
    ),
    Flag("without", "", "What not to do for speed: passes separated by ',', or 'all'"),
    Flag(
        "threads",
        0,
        "Threads to compute with; 0: all cores (shared by the workers)",
        least=0,
    ),
    Flag(
        "data_threads",
        0,
        "Threads that read each source of records ahead; 0: 2",
        least=0,
    ),
    Flag("seed", -1, "Seed of the run; -1: the solver's random_seed, or the clock"),
    Flag("workers", 1, "Processes on this machine that train together", least=1),
    Flag(
        "batch_mode",
        "per-worker",
        "Whether batch_size is each worker's or shared out among them",
        choices=("per-worker", "global"),
    ),
    Flag(
        "reduce",
        "mean",
        "What the update is made of: the workers' mean gradient or their sum",
        choices=("mean", "sum"),
    ),
    Flag(
        "gpu_reduce",
        "auto",
        "Where a host's GPUs have their gradients added up: among themselves by NCCL, "
        "or in the host's memory; auto: by NCCL if each worker has a GPU",
        choices=("auto", "nccl", "host"),
    ),
    Flag(
        "batchnorm",
        "local",
        "Whose batch BatchNorm's statistics are of: each worker's or that of all",
        choices=("local", "sync"),
    ),
    Flag(
        "test_on",
        "all",
        "Whether all workers share a test's batches or the first has them all",
        choices=("all", "first"),
    ),
    Flag("slack", 0, "Clocks a worker may be ahead of the slowest; -1: no bound"),
    Flag(
        "tables",
        "layer",
        "What waits and travels as one: a layer, or the whole net",
        choices=("layer", "single"),
    ),
    Flag(
        "layers_per_table",
        0,
        "Learned layers that share a table; 0: small ones do",
        least=0,
    ),
    Flag("plain_tables", False, "Params in C order, as where workers' engines differ"),
    Flag(
        "overlap",
        "layer",
        "Whether tables travel while other layers compute",
        choices=("layer", "none"),
    ),
    Flag(
        "update",
        "shard",
        "Who runs the solver's rule: the owner of a table, or each worker as in GeePS",
        choices=("shard", "worker"),
    ),
    Flag("read_my_writes", False, "With -slack: a worker sees its own updates at once"),
    Flag("batches_per_clock", 1, "Multiplies the solver's iter_size", least=1),
    Flag("keep_momentum", True, "Take over the history of a solver state"),
    Flag("stats", "", "File for the workers' statistics, JSON, at the end"),
    Flag(
        "log_interval",
        0,
        "Log what the parameter server counts every N iterations",
        least=0,
    ),
    Flag("verbose", False, "Log more of what the parameter server does"),
    Flag("dummy_data", False, "Replace data layers by made-up records of their shapes"),
    Flag(
        "record",
        "",
        "Shapes of made-up records by blob, where the net doesn't tell them, such as "
        "data=3,227,227,label= (a single number); means -dummy_data",
    ),
    Flag("all_outputs", False, "Log all numbers of every output blob"),
    Flag("debug", False, "Show the stack of an error"),
    Flag("help", False, "Show this help"),
)

CLUSTER = (
    Flag("machinefile", "", "Hosts that train together, one a line"),
    Flag("ps_config", "", "GeePS's configuration file; other flags stand before it"),
    Flag("worker_id", -1, "This process's line of the machine file, from 0"),
    Flag("port", 0, "Port of the first agent; 0: 9090, or what a launcher says"),
    Flag(
        "key",
        "",
        "The cluster's key, see keygen; needed beyond 127.0.0.1. none: the network is "
        "closed to all others, so no key",
    ),
    Flag("channels", 1, "Connections to each host"),
    Flag(
        "wire",
        "fp32",
        "How numbers travel between hosts",
        choices=("fp32", "fp16", "bf16"),
    ),
    Flag(
        "transport",
        "zmq",
        "What connects hosts: ZeroMQ, or MPI with one process a host",
        choices=("zmq", "mpi"),
    ),
    Flag(
        "join_seconds", 300, "How long to wait for a worker that does not come", least=1
    ),
    Flag("silence_seconds", 60, "How long a worker may give no sign of life", least=1),
)

LOG = (
    Flag("logtostderr", False, "Log to standard error only, not to files"),
    Flag("alsologtostderr", True, "Log to standard error as well as to files"),
    Flag("log_dir", "", "The folder of log files; empty: that for temporary files"),
    Flag("minloglevel", 0, "Severities below are not logged: 0 INFO to 3 FATAL"),
    Flag("stderrthreshold", 2, "Severities that standard error gets in any case"),
)

FLAGS = (*CAFFE, *OURS, *CLUSTER, *LOG)


def read_line(argv: list[str], command: str) -> CommandLine:
    """Parse a command's arguments, its own name not among them."""
    line = parse(argv, FLAGS)
    if line.text("ps_config"):
        line = parse([*ps_config_flags(line.text("ps_config")), *argv], FLAGS)
    if line.words:
        raise UsageError(_unexpected(line.words[0], command))
    return line


def _unexpected(word: str, command: str) -> str:
    """What to say of a word that is no flag; a prototxt alone lacks its flag."""
    if word.endswith(".prototxt"):
        flag = "-solver" if command == "train" else "-model"
        return f"unexpected {word!r}; did you mean {flag} {word}?"
    return f"unexpected {word!r}; flags begin with '-', and one command is given"


def require(line: CommandLine, flag: str, message: str) -> str:
    """A flag's text, or a UsageError with Caffe's words."""
    value = line.text(flag)
    if not value:
        raise UsageError(f"{message} Give -{flag} FILE.")
    return value
