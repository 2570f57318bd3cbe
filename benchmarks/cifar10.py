"""Train Caffe's CIFAR-10 quick pair, unchanged, on complete CIFAR-10.

    GEEPS_CAFFE_CORPUS=... python -m benchmarks.cifar10 [--engine reference]

The first solver runs its 4,000 iterations; its HDF5 snapshot is what the second one,
with a tenth of the rate, goes on from. Prints the accuracy on the 10,000 test images
after each, and the times.
"""

import argparse
import os
import tempfile
import time
from pathlib import Path

import prototxt
from geeps_caffe.config.job import RunSettings
from geeps_caffe.execution.reports import Displayed, Report, Tested, Testing
from geeps_caffe.execution.trainer import Trainer
from tests.examples.places import cifar10

_FIRST = "examples/cifar10/cifar10_quick_solver.prototxt"
_SECOND = "examples/cifar10/cifar10_quick_solver_lr1.prototxt"
_HDF5 = 0  # snapshot_format


def main() -> None:
    """Lay out the folder and run both solvers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--engine")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    options = parser.parse_args()
    settings = RunSettings(engine=options.engine, threads=options.threads, seed=1)
    corpus = Path(os.environ["GEEPS_CAFFE_CORPUS"]).resolve()
    with tempfile.TemporaryDirectory() as root:
        started = time.perf_counter()
        cifar10(Path(root), corpus)
        os.chdir(root)
        print(f"databases and mean: {time.perf_counter() - started:.0f} s", flush=True)
        state = train(_FIRST, settings, None)
        train(_SECOND, settings, state)


def train(solver: str, settings: RunSettings, resume: str | None) -> str:
    """Run a solver to its end; returns the HDF5 solver state that it left."""
    document = prototxt.read_solver(solver)
    trainer = Trainer(document.message, solver, settings, show)
    started = time.perf_counter()
    trainer.solve(resume)
    print(f"{solver}: {time.perf_counter() - started:.0f} s", flush=True)
    trainer.solver.snapshot_format = _HDF5
    weights = trainer.snapshot()
    trainer.close()
    return weights.replace(".caffemodel.h5", ".solverstate.h5")


def show(report: Report) -> None:
    """Print tests and displayed losses."""
    if isinstance(report, Testing):
        print(f"iteration {report.iteration}:", end=" ", flush=True)
    elif isinstance(report, Tested):
        print(", ".join(f"{o.name} {o.value:.4f}" for o in report.outputs), flush=True)
    elif isinstance(report, Displayed) and report.iteration % 500 == 0:
        print(f"    {report.iteration}: loss {report.loss:.4f}", flush=True)


if __name__ == "__main__":
    main()
