"""N workers of batch B against one worker of batch N x B, after 50 iterations.

    OPENBLAS_NUM_THREADS=1 GEEPS_CAFFE_CORPUS=... \
        python -m benchmarks.equality found.jsonl [--write]

LeNet and cifar10_quick, unchanged, with real data, all six solvers at the rates of
Caffe's examples, clipping, iter_size 2; 2, 4 and 8 workers (threads of one process,
each with its own net on one thread, on one parameter server) against one on two
threads. In single precision on oneDNN each worker has the batch of the file; in double
precision on the reference engine, which takes much longer, they share one.

Numbers are the largest difference in a blob, relative to its largest weight. Each case
is one line of the given file, and what is there already is not run again, so that a run
can be ended and gone on with. `--nudged` adds a control: the one worker again with one
weight moved by one unit in the last place before the first iteration.
"""

import argparse
import json
import os
import re
import sys
import tempfile
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.equality_table import write_tables
from geeps_caffe.config.job import RunSettings
from tests.examples.places import cifar10, mnist
from tests.execution.recordings import inside
from tests.execution.workers import largest_difference, train, train_alone

STEPS = 50
RECORDS = 10_000  # of a database
WORKERS = (2, 4, 8)
LENET = "examples/mnist/lenet_train_test.prototxt"
QUICK = "examples/cifar10/cifar10_quick_train_test.prototxt"
#: Files, the batch in them, and one that 8 workers can share.
NETS = {"LeNet": (LENET, 64, 64), "cifar10_quick": (QUICK, 100, 96)}
MOMENTUM = "momentum: 0.9 weight_decay: 0.0005 "
FIXED = 'lr_policy: "fixed" '
INV = 'lr_policy: "inv" gamma: 0.0001 power: 0.75 '
#: By solver, the fields for LeNet and those for cifar10_quick.
SOLVERS = {
    "SGD": (MOMENTUM + INV + "base_lr: 0.01", MOMENTUM + FIXED + "base_lr: 0.001"),
    "Nesterov": (
        MOMENTUM + INV + 'base_lr: 0.01 type: "Nesterov"',
        MOMENTUM + FIXED + 'base_lr: 0.001 type: "Nesterov"',
    ),
    "AdaGrad": (
        FIXED + 'weight_decay: 0.0005 base_lr: 0.01 type: "AdaGrad"',
        FIXED + 'weight_decay: 0.0005 base_lr: 0.001 type: "AdaGrad"',
    ),
    "RMSProp": (
        INV + 'weight_decay: 0.0005 base_lr: 0.01 type: "RMSProp" rms_decay: 0.98',
        FIXED + 'base_lr: 0.0001 type: "RMSProp" rms_decay: 0.98',
    ),
    "AdaDelta": (
        FIXED + 'momentum: 0.95 base_lr: 1 type: "AdaDelta" delta: 1e-6',
        FIXED + 'momentum: 0.95 base_lr: 1 type: "AdaDelta" delta: 1e-6',
    ),
    "Adam": (
        FIXED + 'momentum: 0.9 momentum2: 0.999 base_lr: 0.001 type: "Adam"',
        FIXED + 'momentum: 0.9 momentum2: 0.999 base_lr: 0.0001 type: "Adam"',
    ),
}
SOLVERS["SGD, clip_gradients 1"] = (
    SOLVERS["SGD"][0] + " clip_gradients: 1",
    SOLVERS["SGD"][1] + " clip_gradients: 1",
)
SOLVERS["SGD, iter_size 2"] = (
    SOLVERS["SGD"][0] + " iter_size: 2",
    SOLVERS["SGD"][1] + " iter_size: 2",
)


@dataclass(frozen=True)
class Case:
    """A job, and how many workers do it beside one."""

    net: str
    solver: str
    dtype: str
    seed: int
    workers: int

    @property
    def shared(self):
        """Whether the workers share one batch; else each has one."""
        return self.dtype == "float64"


def write_job(case, batch):
    """Files of a case in this folder; the solver's path."""
    text = Path(NETS[case.net][0]).read_text()
    text = re.sub(r"batch_size: \d+", f"batch_size: {batch}", text, count=1)
    Path("net.prototxt").write_text(text)
    fields = f'net: "net.prototxt" max_iter: {STEPS} solver_mode: CPU '
    own = SOLVERS[case.solver][list(NETS).index(case.net)]
    Path("solver.prototxt").write_text(fields + own)
    return "solver.prototxt"


def settings_of(case, rank, ranks):
    """Settings of a rank."""
    return RunSettings(
        engine="reference" if case.dtype == "float64" else "onednn",
        dtype=case.dtype,
        threads=1 if ranks > 1 else 2,
        seed=case.seed,
        rank=rank,
        ranks=ranks,
        batch_mode="global" if case.shared else "per-worker",
    )


def work(trainer):
    """All iterations."""
    trainer.step(STEPS)


def nudged(trainer):
    """All iterations, after one weight was moved by one unit in the last place."""
    key = next(iter(trainer.net.graph.params))
    weights = np.array(trainer.net.param(key))
    weights.flat[0] = np.nextafter(weights.flat[0], np.inf, dtype=weights.dtype)
    trainer.net.set_param(key, weights)
    trainer.step(STEPS)


def measure(case, control):
    """What a case's record says."""
    settings = partial(settings_of, case)
    _, own, common = NETS[case.net]
    solver = write_job(case, common if case.shared else own * case.workers)
    one = train_alone(solver, settings, work)
    record = {}
    if control:
        other = train_alone(solver, settings, nudged)
        record["nudged"] = largest_difference(one, other)
    if not case.shared:
        write_job(case, own)
    many = train(solver, settings, case.workers, work)
    record["difference"] = largest_difference(one, many)
    if case.seed == 1:
        again = train(solver, settings, case.workers, work)
        record["same"] = all(np.array_equal(many[key], again[key]) for key in many)
    return record


def read_found(path):
    """Records by case."""
    lines = path.read_text().splitlines() if path.exists() else []
    records = map(json.loads, lines)
    return {Case(**record.pop("case")): record for record in records}


def place_data(folder):
    """Caffe's examples with their databases, where they aren't yet."""
    corpus = Path(os.environ["GEEPS_CAFFE_CORPUS"]).resolve()
    for place, net in ((mnist, LENET), (cifar10, QUICK)):
        if not (folder / net).exists():
            place(folder, corpus, RECORDS)


def main():
    """Measure, print, and perhaps write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--nets", nargs="*", default=list(NETS))
    parser.add_argument("--solvers", nargs="*", default=list(SOLVERS))
    parser.add_argument("--seeds", type=int, nargs="*", default=(1,))
    parser.add_argument("--workers", type=int, nargs="*", default=WORKERS)
    parser.add_argument("--dtypes", nargs="*", default=("float32", "float64"))
    parser.add_argument("--nudged", action="store_true")
    parser.add_argument("--write", action="store_true")
    flags = parser.parse_args()
    path, found = flags.file.resolve(), read_found(flags.file)
    cases = (
        Case(net, solver, dtype, seed, workers)
        for dtype in flags.dtypes
        for net in flags.nets
        for solver in flags.solvers
        for seed in flags.seeds
        for workers in flags.workers
    )
    with tempfile.TemporaryDirectory() as name, inside(name):
        place_data(Path(name))
        for case in cases:
            if case not in found:
                line = json.dumps({"case": asdict(case)} | measure(case, flags.nudged))
                print(line, flush=True)
                with path.open("a") as file:
                    file.write(line + "\n")
    write_tables(read_found(path), " ".join(sys.argv[1:]), flags.write)


if __name__ == "__main__":
    main()
