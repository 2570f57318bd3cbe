"""What a GPU run has to show, in pieces of under ten minutes each.

    python -m benchmarks.gpu device               # what there is
    python -m benchmarks.gpu operations           # every operation, both passes
    python -m benchmarks.gpu recordings           # every recorded layer of Caffe
    python -m benchmarks.gpu solvers              # every recorded solver, 20 steps
    python -m benchmarks.gpu nccl                 # sums over all GPUs of the machine
    python -m benchmarks.gpu bits                 # graphs and less memory change none
    python -m benchmarks.gpu steps --net alexnet  # beside PyTorch eager and compiled
    python -m benchmarks.gpu memory --net alexnet # at 100, 75, 50 and 35 % of the need

A piece of checks that is not through after `--seconds` says how far it came, counts as
failed, and goes on from there with `--skip`. All that is needed travels with the
repository, but for NumPy, protobuf and CuPy; h5py for `solvers`, PyTorch for its times.

Without a GPU the pieces run on the double of CuPy in tests/, which shows that the
script works and says nothing of speed. The last line says how many checks failed, and
so does the exit code.
"""

import argparse
import platform
import sys
import time
from collections.abc import Iterator

import numpy as np

from benchmarks.absent import stand_in

MISSING = stand_in()  # before anything of ours is imported

from benchmarks.gpu_bits import bits  # noqa: E402
from benchmarks.gpu_checks import (  # noqa: E402
    Outcome,
    operations,
    recordings,
    solvers,
)
from benchmarks.gpu_nets import SIZES  # noqa: E402
from benchmarks.gpu_sums import sums  # noqa: E402
from benchmarks.gpu_times import Times, by_memory, side_by_side  # noqa: E402
from geeps_caffe.device import backend  # noqa: E402
from geeps_caffe.engines.cuda.engine import CudaEngine  # noqa: E402
from tests.cuda_double import make_cupy  # noqa: E402

CHECKS = {
    "operations": operations,
    "recordings": recordings,
    "solvers": solvers,
    "nccl": sums,
    "bits": bits,
}
TIMES = ("steps", "memory")


def main(argv: list[str] | None = None) -> int:
    """Run one piece; the exit code is 1 if a check failed."""
    argv = sys.argv[1:] if argv is None else argv
    options = read_options(argv)
    real = has_gpu()
    if not real:
        use_double()
    engine = CudaEngine()
    start = time.perf_counter()
    print(f"# {' '.join(argv)}; {describe(engine, real)}", flush=True)
    failed = 0
    if options.piece in CHECKS:
        end = start + options.seconds
        failed = show(CHECKS[options.piece](engine, options.only), options.skip, end)
    elif options.piece in TIMES:
        for line in times(options, real):
            print(line, flush=True)
    print(f"# {time.perf_counter() - start:.0f} s, {failed} failed", flush=True)
    return int(failed > 0)


def read_options(argv: list[str]) -> argparse.Namespace:
    """The command line."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("piece", choices=("device", *CHECKS, *TIMES))
    parser.add_argument("--only", default="", help="checks with this in their names")
    parser.add_argument("--skip", type=int, default=0, help="so many checks")
    parser.add_argument("--seconds", type=float, default=540, help="of checks")
    parser.add_argument("--net", choices=SIZES, default="lenet")
    parser.add_argument("--batch", type=int, help="default: the net's own")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--peers", default="eager,compiled", help="of PyTorch, or none")
    return parser.parse_args(argv)


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
    if MISSING:
        versions += f", without {', '.join(MISSING)}"
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


def show(outcomes: Iterator[Outcome], skip: int, end: float) -> int:
    """Make checks until `end`, by the clock, and print each; how many are not ok."""
    failed = 0
    for number, (name, check) in enumerate(outcomes):
        if number < skip:
            continue
        if time.perf_counter() > end:
            print(f"no time left: go on with --skip {number}", flush=True)
            return failed + 1
        outcome = check()
        failed += outcome != "ok"
        print(f"{outcome:4} {name}", flush=True)
    return failed


def times(options: argparse.Namespace, real: bool) -> Iterator[Times]:
    """The piece's measurements."""
    batch = options.batch or SIZES[options.net].batch
    args = (options.net, batch, options.steps)
    if options.piece == "memory":
        return by_memory(*args)
    peers = [] if options.peers == "none" or not real else options.peers.split(",")
    return side_by_side(*args, peers)


if __name__ == "__main__":
    sys.exit(main())
