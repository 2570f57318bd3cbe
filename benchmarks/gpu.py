"""What a GPU run has to show, in pieces of under ten minutes each.

    python -m benchmarks.gpu device               # what there is
    python -m benchmarks.gpu operations           # every operation, both passes
    python -m benchmarks.gpu recordings           # every recorded case of Caffe
    python -m benchmarks.gpu steps --net alexnet  # beside PyTorch eager and compiled
    python -m benchmarks.gpu memory --net alexnet # at 100, 75, 50 and 35 % of the need

Without a GPU the pieces run on the double of CuPy in tests/, which shows that the
script works and says nothing of speed. The last line says how many checks failed, and
so does the exit code. Nets come from the folder that GEEPS_CAFFE_CORPUS names.
"""

import argparse
import os
import platform
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.gpu_checks import Outcome, operations, recordings
from benchmarks.gpu_times import Times, by_memory, side_by_side
from benchmarks.models import MODELS
from geeps_caffe.device import backend
from geeps_caffe.engines.cuda.engine import CudaEngine
from tests.cuda_double import make_cupy

CHECKS = {"operations": operations, "recordings": recordings}
TIMES = ("steps", "memory")


def main() -> int:
    """Run one piece; the exit code is 1 if a check failed."""
    options = read_options()
    real = has_gpu()
    if not real:
        use_double()
    engine = CudaEngine()
    start = time.perf_counter()
    print(f"# {' '.join(sys.argv[1:])}; {describe(engine, real)}", flush=True)
    failed = 0
    if options.piece in CHECKS:
        failed = show(CHECKS[options.piece](engine))
    elif options.piece in TIMES:
        for line in times(options, real):
            print(line, flush=True)
    print(f"# {time.perf_counter() - start:.0f} s, {failed} failed", flush=True)
    return int(failed > 0)


def read_options() -> argparse.Namespace:
    """The command line."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("piece", choices=("device", *CHECKS, *TIMES))
    parser.add_argument("--net", choices=MODELS, default="lenet")
    parser.add_argument("--batch", type=int, help="default: the net's own")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--peers", default="eager,compiled", help="of PyTorch, or none")
    corpus = os.environ.get("GEEPS_CAFFE_CORPUS", "shared")
    parser.add_argument("--corpus", type=Path, default=Path(corpus))
    return parser.parse_args()


def has_gpu() -> bool:
    """Whether CuPy is here with a device."""
    try:
        backend.open_cupy()
    except backend.GpuMissing:
        return False
    return True


def use_double() -> None:
    """Put the double in CuPy's place."""
    sys.modules["cupy"] = make_cupy()


def describe(engine: CudaEngine, real: bool) -> str:
    """The device and the software, in words."""
    versions = f"Python {platform.python_version()}, NumPy {np.__version__}"
    if not real:
        return f"the double of CuPy (no GPU here), {versions}"
    cupy = engine.xp
    found = cupy.cuda.runtime.getDeviceProperties(0)
    sizes = engine.device.memory()
    return (
        f"{found['name'].decode()} (sm_{found['major']}{found['minor']}), "
        f"{sizes.total:,} bytes, {sizes.free:,} free, CuPy {cupy.__version__}, "
        f"CUDA {cupy.cuda.runtime.runtimeGetVersion()}, {versions}"
    )


def show(outcomes: Iterator[Outcome]) -> int:
    """Print each outcome; how many are not ok."""
    failed = 0
    for name, outcome in outcomes:
        failed += outcome != "ok"
        print(f"{outcome:4} {name}", flush=True)
    return failed


def times(options: argparse.Namespace, real: bool) -> Iterator[Times]:
    """The piece's measurements."""
    batch = options.batch or MODELS[options.net].batch
    args = (options.net, options.corpus, batch, options.steps)
    if options.piece == "memory":
        return by_memory(*args)
    peers = [] if options.peers == "none" or not real else options.peers.split(",")
    return side_by_side(*args, peers)


if __name__ == "__main__":
    sys.exit(main())
