"""What a user waits for before the first step, and the memory that plan foretold.

    GEEPS_CAFFE_CORPUS=... python -m benchmarks.startup [--write]

`geeps-caffe --help`, `import geeps_caffe`, GoogLeNet from its text to the end of its
first step, and a later step; bytecode is there, as after an installation. And, for each
net of `models.py`, the most memory that a training process took beside what
`geeps-caffe plan` said.
"""

import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.models import MODELS, Model, read_model
from benchmarks.results import tell, title
from prototxt import write_text

COMMAND = [sys.executable, "-m", "geeps_caffe"]
SOLVER = """net: "{net}" base_lr: 1e-5 lr_policy: "fixed" momentum: 0.9 display: 1
weight_decay: 0.0005 max_iter: {steps} random_seed: 1 snapshot_after_train: false"""


def write_job(model: Model, folder: Path, steps: int) -> Path:
    """A solver and its net on made-up records; returns the solver's path."""
    message = read_model(model, Path(os.environ["GEEPS_CAFFE_CORPUS"]))
    source = message.layer[0]
    source.type = "DummyData"
    for shape in source.input_param.shape:
        source.dummy_data_param.shape.add(dim=shape.dim)
    source.ClearField("input_param")
    (folder / "net.prototxt").write_text(write_text(message))
    solver = folder / "solver.prototxt"
    solver.write_text(SOLVER.format(net=folder / "net.prototxt", steps=steps))
    return solver


def seconds(command: list[str], times: int) -> float:
    """The median of what a command takes."""
    return statistics.median(_timed(lambda: _run(command)) for _ in range(times))


def memory(model: Model) -> tuple[int, int]:
    """Bytes that plan foretells for a training process, and the most that it took."""
    with tempfile.TemporaryDirectory() as name:
        solver = write_job(model, Path(name), steps=4)
        shown = _run([*COMMAND, "plan", f"-solver={solver}"])
        found = re.search(r"the process, about\s+([\d,]+) bytes", shown)
        assert found, shown
        return int(found[1].replace(",", "")), _peak(
            [*COMMAND, "train", f"-solver={solver}"]
        )


def first_steps(times: int = 5) -> tuple[float, float]:
    """Seconds of a process up to GoogLeNet's first result, and to that after it."""
    with tempfile.TemporaryDirectory() as name:
        solver = write_job(MODELS["googlenet"], Path(name), steps=2)
        found = [_shown([*COMMAND, "train", f"-solver={solver}"]) for _ in range(times)]
    firsts, later = zip(*((one, two - one) for one, two in found), strict=True)
    return statistics.median(firsts), statistics.median(later)


def _shown(command: list[str]) -> tuple[float, float]:
    """Seconds until the first two iterations are shown."""
    start, at = time.perf_counter(), []
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if re.search(r"Iteration \d+ \(.*loss", line):
                at.append(time.perf_counter() - start)
    first, second = at
    return first, second


def _run(command: list[str]) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def _timed(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def _peak(command: list[str]) -> int:
    """The most memory of a process; one of ours in between tells it from others."""
    code = (
        "import resource, subprocess, sys\n"
        "subprocess.run(sys.argv[1:], check=True, capture_output=True)\n"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    return 1024 * int(_run([sys.executable, "-c", code, *command]))


def lines() -> list[str]:
    """For the results."""
    first_steps(times=1)  # writes the bytecode
    first, later = first_steps()
    helped = seconds([*COMMAND, "--help"], 9)
    imported = seconds([sys.executable, "-c", "import geeps_caffe"], 9)
    found = [
        f"- `geeps-caffe --help` {helped:.2f} s, `import geeps_caffe` {imported:.2f} s",
        f"- GoogLeNet, batch 16, `train` to the end of its first step {first:.1f} s, "
        f"of its second {later:.1f} s more",
        "",
        "| net | plan foretells, MB | the process took, MB | |",
        "|---|---|---|---|",
    ]
    for name, model in MODELS.items():
        foretold, took = memory(model)
        found.append(
            f"| {name} | {foretold / 2**20:.0f} | {took / 2**20:.0f} "
            f"| {100 * (took / foretold - 1):+.1f} % |"
        )
    return found


def main() -> None:
    """Measure and print; append to the results on request."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    head = title("Starting, and memory as foretold", "Medians")
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["PYTHONPYCACHEPREFIX"] = folder
        tell([*head, *lines()], options.write)


if __name__ == "__main__":
    main()
