"""What becomes of a wish for GPUs: those that a run computes on."""

from geeps_caffe.commands.session import Session
from geeps_caffe.config.flags import CommandLine
from geeps_caffe.engines.table import count_gpus
from geeps_caffe.errors import UsageError
from prototxt import Message

_GPU = 1  # SolverMode in caffe.proto


def choose_device(
    session: Session, line: CommandLine, where: str, solver_gpu: int | None = None
) -> tuple[int, ...]:
    """The GPUs to compute on, none of them for the CPU; says so.

    Args:
        session: the log.
        line: its -gpu flag is the wish, unless -engine names an engine of the CPU.
        where: Caffe's place for the line "Use CPU.".
        solver_gpu: the solver's device_id where its mode is GPU (its default) and
            no -gpu is given.

    Raises:
        UsageError: -gpu names what is no GPU of this machine.
    """
    wish, engine = line.text("gpu"), line.text("engine")
    asked = bool(wish) or solver_gpu is not None or engine == "cuda"
    if not asked or engine not in ("", "cuda") or line.text("dtype") != "float32":
        session.say(where, "Use CPU.")
        return ()
    found = count_gpus()
    if not found and engine == "cuda":
        return (0,)  # opening it says what is missing
    if not found:
        _numbers(wish or "all")
        text = f"-gpu {wish}" if wish else "solver_mode: GPU (Caffe's default)"
        session.warn(f"{text}, but there is no usable GPU here: computing on the CPU")
        session.say(where, "Use CPU.")
        return ()
    gpus = read_gpus(wish or str(solver_gpu or 0), found)
    session.say(where, f"Using GPUs {', '.join(map(str, gpus))}")
    return gpus


def read_gpus(text: str, found: int) -> tuple[int, ...]:
    """The numbers of a -gpu flag: separated by ',' or all that were found.

    >>> read_gpus("all", 2), read_gpus("1,0", 2)
    ((0, 1), (1, 0))

    Raises:
        UsageError: it is none, or twice the same.
    """
    gpus = _numbers(text)
    if text == "all":
        return tuple(range(found))
    if max(gpus) >= found:
        raise UsageError(
            f"-gpu is {text!r}; this machine has {found} usable GPUs, from 0 up"
        )
    return gpus


def _numbers(text: str) -> tuple[int, ...]:
    """The numbers as they stand, none for all; whatever the machine has."""
    parts = [part.strip() for part in text.split(",")]
    if text == "all":
        return ()
    if not all(part.isdecimal() for part in parts):
        raise UsageError(f"-gpu is {text!r}; give numbers separated by ',' or all")
    gpus = tuple(int(part) for part in parts)
    if len(set(gpus)) < len(gpus):
        raise UsageError(f"-gpu is {text!r}; a GPU is named twice")
    return gpus


def planned_gpus(line: CommandLine, solver_gpu: int | None = None) -> tuple[int, ...]:
    """Those of a run that is only planned: -gpu and -engine may name what is not here.

    Args:
        line: the flags.
        solver_gpu: as of `choose_device`.

    Raises:
        UsageError: -gpu names no GPUs.
    """
    wish, engine = line.text("gpu"), line.text("engine")
    if engine not in ("", "cuda") or line.text("dtype") != "float32":
        return ()
    if wish:
        return _numbers(wish) or tuple(range(max(count_gpus(), 1)))
    if engine == "cuda":
        return (solver_gpu or 0,)
    return () if solver_gpu is None or not count_gpus() else (solver_gpu,)


def gpu_of(solver: Message) -> int | None:
    """The device_id of a solver in mode GPU, Caffe's default."""
    return max(solver.device_id, 0) if solver.solver_mode == _GPU else None


def wanted_gpus(line: CommandLine) -> tuple[int, ...]:
    """Those that -gpu names, as far as they are here; before any log is open."""
    wish, engine = line.text("gpu"), line.text("engine")
    if not wish or engine not in ("", "cuda") or line.text("dtype") != "float32":
        return ()
    found = count_gpus()
    return read_gpus(wish, found) if found else ()
