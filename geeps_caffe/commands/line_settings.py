"""What flags ask for: the settings of a run, its limits, where its lines go."""

import os
from collections.abc import Mapping, Sequence

from geeps_caffe.config.flags import CommandLine
from geeps_caffe.config.grouping import Grouping
from geeps_caffe.config.job import RunSettings
from geeps_caffe.config.made_up import MadeUp, read_records
from geeps_caffe.config.param_cache import parse_param_cache
from geeps_caffe.errors import UsageError
from geeps_caffe.glog import LogSettings, read_settings
from geeps_caffe.paramserver import Limits
from geeps_caffe.paramserver.connect import RANK
from prototxt import Message

OWN_DATA = "GEEPS_CAFFE_OWN_DATA"  # 1: each worker's files name data of its own


def memory_of(line: CommandLine) -> str:
    """The most memory that is given, by either flag.

    Raises:
        UsageError: the two differ.
    """
    memory, gpu_memory = line.text("memory"), line.text("gpu_memory")
    if memory and gpu_memory and memory != gpu_memory:
        raise UsageError(
            f"-memory is {memory} and -gpu_memory {gpu_memory}; give one of them"
        )
    return memory or gpu_memory


def stages_of(line: CommandLine) -> tuple[str, ...]:
    """The stages as Caffe splits them: no flag is one empty stage."""
    return tuple(line.text("stage").split(","))


def set_train_state(solver: Message, line: CommandLine) -> None:
    """Give a solver the level and the stages of flags, over its own, as Caffe does."""
    solver.train_state.level = line.integer("level")
    solver.train_state.stage.extend(stages_of(line))


def run_settings(
    line: CommandLine,
    rank: int = 0,
    ranks: int = 1,
    gpus: Sequence[int] = (),
    local: tuple[int, int] | None = None,
    agents: int = 1,
) -> RunSettings:
    """How to run; the budget is left out, since it may be a share of a plan.

    Args:
        line: the flags.
        rank: of this worker.
        ranks: of the job.
        gpus: the workers of a host take turns with its GPUs; without any they compute
            on the CPU.
        local: this worker's number among those of its host, and how many those are;
            None: all are here.
        agents: how many agents these belong to, each with as many.
    """
    from geeps_caffe.schedule.passes import parse_passes  # noqa: PLC0415  large

    place, places = local or (rank, ranks)
    share = places // agents
    cores = len(os.sched_getaffinity(0))
    seed = line.integer("seed")
    return RunSettings(
        engine="cuda" if gpus else line.text("engine") or None,
        gpu=gpus[place % len(gpus)] if gpus else 0,
        kernels=line.text("kernels"),
        dtype=line.text("dtype"),
        threads=line.integer("threads") or max(cores // places, 1),
        rank=rank,
        ranks=ranks,
        local=(place % share, share),
        gpus=max(len(gpus) // agents, 1),
        gpu_reduce=line.text("gpu_reduce"),
        batch_mode=line.text("batch_mode"),
        reduce=line.text("reduce"),
        batchnorm=line.text("batchnorm"),
        test_on=line.text("test_on"),
        slack=line.integer("slack"),
        grouping=Grouping(
            line.text("tables") == "single", line.integer("layers_per_table")
        ),
        overlap=line.text("overlap") == "layer",
        update=line.text("update"),
        times=bool(line.text("stats")),
        keep_momentum=line.switch("keep_momentum"),
        own_data=environ_flag(os.environ, OWN_DATA),
        param_cache=parse_param_cache(line.text("param_cache")),
        plain_tables=line.switch("plain_tables"),
        made_up=made_up_of(line),
        costs=line.text("costs"),
        graphs=line.switch("cuda_graphs"),
        recompute=line.switch("recompute"),
        warning_level=_level(line),
        data_threads=line.integer("data_threads"),
        without=parse_passes(line.text("without")),
        seed=seed if seed >= 0 else None,
    )


def _level(line: CommandLine) -> int:
    level = line.integer("mm_warning_level")
    if not 0 <= level <= 3:
        raise UsageError(f"-mm_warning_level is {level}; expected 0 to 3")
    return level


def made_up_of(line: CommandLine) -> MadeUp | None:
    """What stands in for the data, where that is asked for."""
    records = line.text("record")
    if records:
        return MadeUp(read_records(records))
    return MadeUp() if line.switch("dummy_data") else None


def limits_of(line: CommandLine) -> Limits:
    """How long workers wait for each other."""
    return Limits(
        join=float(line.integer("join_seconds")),
        silence=float(line.integer("silence_seconds")),
    )


def environ_flag(environ: Mapping[str, str], name: str) -> bool:
    """Whether a variable that this program sets for its workers is set."""
    return environ.get(name) == "1"


def log_settings(line: CommandLine, environ: Mapping[str, str]) -> LogSettings:
    """Where lines go: flags before variables.

    Ranks above 0 have files of their own instead of a standard error (see `launch`).
    """
    found = read_settings(environ)
    given = line.given
    only = line.switch("logtostderr") if "logtostderr" in given else found.only_stderr
    return LogSettings(
        only_stderr=only or environ.get(RANK, "0") != "0",
        also_stderr=line.switch("alsologtostderr"),
        folder=line.text("log_dir") or found.folder,
        least=line.integer("minloglevel") if "minloglevel" in given else found.least,
        stderr_least=(
            line.integer("stderrthreshold")
            if "stderrthreshold" in given
            else found.stderr_least
        ),
    )
