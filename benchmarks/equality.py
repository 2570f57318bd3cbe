"""N workers of batch B against one worker of batch N x B, after 50 iterations.

    GEEPS_CAFFE_CORPUS=... python -m benchmarks.equality [--write]

LeNet and cifar10_quick with real data, all six solvers, clipping, iter_size 2; 2, 4 and
8 workers (threads of one process, each with its own net, on one parameter server). In
double precision on the reference engine, and in single precision on oneDNN with several
seeds: numbers are the largest difference in a blob, relative to its largest weight.
Max pooling picks one of two nearly equal values; where rounding makes workers pick
another one than the single worker did, differences are larger, for some seeds.
"""

import argparse
import datetime
import os
import re
import statistics
import sys
import tempfile
from pathlib import Path

from geeps_caffe.config.job import RunSettings
from tests.examples.places import cifar10, mnist
from tests.execution.recordings import inside
from tests.execution.workers import largest_difference, train, train_alone

RESULTS = Path(__file__).with_name("RESULTS.md")
STEPS = 50
RECORDS = 10_000  # of a database
WORKERS = (2, 4, 8)
NETS = {
    "LeNet": ("examples/mnist/lenet_train_test.prototxt", 64, mnist),
    "cifar10_quick": (
        "examples/cifar10/cifar10_quick_train_test.prototxt",
        96,
        cifar10,
    ),
}
BASE = 'momentum: 0.9 weight_decay: 0.0005 lr_policy: "fixed" '
SOLVERS = {
    "SGD": BASE + 'type: "SGD" base_lr: 0.001',
    "Nesterov": BASE + 'type: "Nesterov" base_lr: 0.001',
    "AdaGrad": 'type: "AdaGrad" base_lr: 0.001 lr_policy: "fixed"',
    "RMSProp": 'type: "RMSProp" base_lr: 0.0001 lr_policy: "fixed" rms_decay: 0.98',
    "AdaDelta": BASE.replace("0.9 ", "0.95 ")
    + 'type: "AdaDelta" base_lr: 1 delta: 1e-6',
    "Adam": BASE + 'type: "Adam" base_lr: 0.0001 momentum2: 0.999',
    "SGD, clip_gradients 1": BASE + 'type: "SGD" base_lr: 0.001 clip_gradients: 1',
    "SGD, iter_size 2": BASE + 'type: "SGD" base_lr: 0.001 iter_size: 2',
}


def write_job(net, batch, solver):
    """The net with this training batch, and a solver of fields; the solver's path."""
    text = Path(net).read_text()
    text = re.sub(r"batch_size: \d+", f"batch_size: {batch}", text, count=1)
    Path("net.prototxt").write_text(text)
    fields = 'net: "net.prototxt" max_iter: 50 solver_mode: CPU '
    Path("solver.prototxt").write_text(fields + solver)
    return "solver.prototxt"


def differences(solver, engine, dtype, seeds, workers):
    """By number of workers, one number a seed."""
    found = {count: [] for count in workers}
    for seed in seeds:

        def settings(rank, ranks, seed=seed):
            return RunSettings(
                engine=engine,
                dtype=dtype,
                threads=1,
                seed=seed,
                rank=rank,
                ranks=ranks,
                batch_mode="global",
            )

        def work(trainer):
            trainer.step(STEPS)

        one = train_alone(solver, settings, work)
        for count in workers:
            many = train(solver, settings, count, work)
            found[count].append(largest_difference(one, many))
    return found


def rows(net, kinds, workers):
    """Lines of the table of a net."""
    path, batch, place = NETS[net]
    with tempfile.TemporaryDirectory() as folder, inside(folder):
        corpus = Path(os.environ["GEEPS_CAFFE_CORPUS"]).resolve()
        place(Path(folder), corpus, RECORDS)
        for name, fields in SOLVERS.items():
            solver = write_job(path, batch, fields)
            for engine, dtype, seeds in kinds:
                found = differences(solver, engine, dtype, seeds, workers)
                cells = [
                    f"{statistics.median(numbers):.1e} / {max(numbers):.1e}"
                    for numbers in found.values()
                ]
                row = f"| {net} | {name} | {dtype} | " + " | ".join(cells) + " |"
                print(row, flush=True)
                yield row


def main():
    """Measure, print, and perhaps write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nets", nargs="*", default=list(NETS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--workers", type=int, nargs="*", default=WORKERS)
    parser.add_argument("--write", action="store_true")
    flags = parser.parse_args()
    kinds = (
        ("reference", "float64", range(1, 2)),
        ("onednn", "float32", range(1, flags.seeds + 1)),
    )
    heads = [f"{count} workers, median / largest" for count in flags.workers]
    lines = [
        "| net | solver | dtype | " + " | ".join(heads) + " |",
        "|---" * (3 + len(heads)) + "|",
    ]
    for net in flags.nets:
        lines += rows(net, kinds, flags.workers)
    if flags.write:
        words = "python -m benchmarks.equality " + " ".join(sys.argv[1:])
        head = f"\n## N workers and one\n\n{datetime.date.today()}: `{words}`. "
        head += f"float32 with {flags.seeds} seeds.\n\n"
        with RESULTS.open("a") as file:
            file.write(head + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
