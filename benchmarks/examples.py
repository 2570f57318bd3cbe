"""Run Caffe's examples for 500 iterations each: how far does the loss fall?

    GEEPS_CAFFE_CORPUS=... python -m benchmarks.examples [PART OF A SOLVER'S NAME ...]

On complete MNIST and CIFAR-10, with Caffe's files unchanged. A line for each solver:
the mean of its first and its last 50 losses, their ratio and the bound for it, what
the test nets gave at the end, and seconds. Exit code 1 if a bound is broken.
"""

import argparse
import contextlib
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from geeps_caffe.config.job import RunSettings
from tests.examples.runs import EXAMPLES, Example, fall, lay_out, losses_of


def main() -> int:
    """Run the examples that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--engine")
    parser.add_argument("--iterations", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    options = parser.parse_args()
    settings = RunSettings(
        engine=options.engine, threads=options.threads, seed=options.seed
    )
    corpus = Path(os.environ["GEEPS_CAFFE_CORPUS"]).resolve()
    wanted = [
        example
        for example in EXAMPLES
        if not options.names or any(name in example.solver for name in options.names)
    ]
    good = True
    for place in dict.fromkeys(example.place for example in wanted):
        with tempfile.TemporaryDirectory() as root:
            lay_out(Path(root), corpus, place)
            for example in wanted:
                if example.place == place:
                    good &= run(example, Path(root), options.iterations, settings)
    return 0 if good else 1


def run(example: Example, root: Path, iterations: int, settings: RunSettings) -> bool:
    """Run one example and print its line; whether it keeps its bound."""
    with contextlib.chdir(root / example.folder), python_layers(root):
        started = time.perf_counter()
        losses, tested = losses_of(example.solver, iterations, settings)
        seconds = time.perf_counter() - started
    first, last = np.mean(losses[:50]), np.mean(losses[-50:])
    ratio = fall(losses)
    outputs = "; ".join(
        " ".join(f"{name} {value:.4g}" for name, value in values.items())
        for values in tested.values()
    )
    name = Path(example.solver).name.removesuffix(".prototxt")
    print(
        f"{name:<36} {first:9.4f} {last:9.4f} {ratio:7.3f} <= {example.bound:g} "
        f"{seconds:7.1f} s  {outputs}",
        flush=True,
    )
    return ratio <= example.bound


@contextlib.contextmanager
def python_layers(root: Path) -> Iterator[None]:
    """With examples/pycaffe/layers on the path, as Caffe's tutorial asks for."""
    sys.path.insert(0, str(root / "examples" / "pycaffe" / "layers"))
    try:
        yield
    finally:
        sys.path.pop(0)


if __name__ == "__main__":
    sys.exit(main())
