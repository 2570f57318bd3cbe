"""N workers of batch B against one worker of batch N x B, after 50 iterations.

    OPENBLAS_NUM_THREADS=1 GEEPS_CAFFE_CORPUS=... \
        python -m benchmarks.equality found.jsonl [--write]

LeNet and cifar10_quick with real data, all six solvers at the rates of Caffe's
examples, clipping, iter_size 2; 2, 4 and 8 workers (threads of one process, each with
its own net, on one parameter server). Numbers are the largest difference in a blob,
relative to its largest weight. Each case is one line of the given file, and what is
there already is not run again, so that a run can be ended and gone on with.

In double precision, on the reference engine, the bound holds always. In single
precision sums of gradients differ in the seventh digit with the order of addition; a
maximum of two nearly equal values, or a ReLU near 0, then goes the other way for a
sample, and the weights part. So each case has two controls: *nudged* is the one worker
again with one weight moved by one unit in the last place before the first iteration,
and *smooth* is the case with AVE in place of MAX and TanH in place of ReLU.
"""

import argparse
import json
import os
import re
import sys
import tempfile
from dataclasses import asdict, dataclass
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
NETS = {"LeNet": (LENET, 64), "cifar10_quick": (QUICK, 96)}  # batch of all workers
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
    """One worker's job; `smooth` is a control."""

    net: str
    solver: str
    dtype: str
    seed: int
    smooth: bool = False


def write_job(case):
    """Files of a case in this folder; the solver's path."""
    net, batch = NETS[case.net]
    text = Path(net).read_text()
    text = re.sub(r"batch_size: \d+", f"batch_size: {batch}", text, count=1)
    if case.smooth:
        text = text.replace("pool: MAX", "pool: AVE").replace('"ReLU"', '"TanH"')
    Path("net.prototxt").write_text(text)
    fields = f'net: "net.prototxt" max_iter: {STEPS} solver_mode: CPU '
    own = SOLVERS[case.solver][list(NETS).index(case.net)]
    Path("solver.prototxt").write_text(fields + own)
    return "solver.prototxt"


def settings_of(case):
    """Settings by rank; the net's batch is shared out."""
    engine = "reference" if case.dtype == "float64" else "onednn"

    def settings(rank, ranks):
        return RunSettings(
            engine=engine,
            dtype=case.dtype,
            threads=1,
            seed=case.seed,
            rank=rank,
            ranks=ranks,
            batch_mode="global",
        )

    return settings


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


def measure(case, counts, found):
    """Run what of a case is not in `found` yet; yields one record a run."""
    solver, settings = write_job(case), settings_of(case)
    missing = [n for n in counts if (case, str(n)) not in found]
    nudge = case.dtype == "float32" and (case, "nudged") not in found
    if not missing and not nudge:
        return
    one = train_alone(solver, settings, work)
    if nudge:
        other = train_alone(solver, settings, nudged)
        yield {"what": "nudged", "difference": largest_difference(one, other)}
    for count in missing:
        many = train(solver, settings, count, work)
        record = {"what": str(count), "difference": largest_difference(one, many)}
        if case.seed == 1:
            again = train(solver, settings, count, work)
            record["same"] = all(np.array_equal(many[key], again[key]) for key in many)
        yield record


def read_found(path):
    """Records by case and what was compared."""
    lines = path.read_text().splitlines() if path.exists() else []
    return {
        (Case(**record["case"]), record["what"]): record
        for record in map(json.loads, lines)
    }


def cases(nets, solvers, seeds):
    """All of them; double precision with one seed."""
    for net in nets:
        for solver in solvers:
            yield Case(net, solver, "float64", 1)
            for seed in range(1, seeds + 1):
                yield Case(net, solver, "float32", seed)
                yield Case(net, solver, "float32", seed, smooth=True)


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
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--workers", type=int, nargs="*", default=WORKERS)
    parser.add_argument("--dtype", help="only this one")
    parser.add_argument("--write", action="store_true")
    flags = parser.parse_args()
    path, found = flags.file.resolve(), read_found(flags.file)
    with tempfile.TemporaryDirectory() as name, inside(name):
        place_data(Path(name))
        for case in cases(flags.nets, flags.solvers, flags.seeds):
            if flags.dtype not in (None, case.dtype):
                continue
            for record in measure(case, flags.workers, found):
                line = json.dumps({"case": asdict(case), **record})
                print(line, flush=True)
                with path.open("a") as file:
                    file.write(line + "\n")
    write_tables(read_found(path), " ".join(sys.argv[1:]), flags.write)


if __name__ == "__main__":
    main()
