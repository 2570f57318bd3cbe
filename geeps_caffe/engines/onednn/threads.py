"""One pool of threads in the process, and how it waits.

Threads of OpenMP that spin for long between two primitives collapse when anything else
wants their cores, those that sleep at once wake up late. Measured for LeNet's steps on
two cores, ms at the median, quiet and beside a busy process: GNU's default of 300,000
spins 4.5 and 9 to 290; no spin 5.2 and 20 to 28; 1,000 spins 5.1 and 21; 10,000 spins
4.9 and 21. (AlexNet's sleep 84 times a step with 1,000 and 9 times with 10,000.) So
they spin for a moment unless the user says otherwise. Two pools, NumPy's BLAS beside
OpenMP, cost up to three times; so BLAS gets one thread.
"""

import ctypes
import os
from collections.abc import Iterable, MutableMapping
from pathlib import Path

#: What we set where the user has set none of them; the second is GNU's alone.
_WAITING = {"OMP_WAIT_POLICY": "passive", "GOMP_SPINCOUNT": "10000"}
_POLICIES = (*_WAITING, "KMP_BLOCKTIME")
_BLAS_SETTERS = (
    "scipy_openblas_set_num_threads64_",
    "scipy_openblas_set_num_threads",
    "openblas_set_num_threads64_",
    "openblas_set_num_threads",
    "bli_thread_set_num_threads",
    "MKL_Set_Num_Threads",
)
_BLAS_NAMES = ("openblas", "libblis", "mkl_rt")


def prepare_environment(
    threads: int | None, environment: MutableMapping[str, str] = os.environ
) -> None:
    """Set what OpenMP reads when it is first loaded; call before opening oneDNN."""
    if not any(name in environment for name in _POLICIES):
        environment.update(_WAITING)
    if threads is not None:
        environment["OMP_NUM_THREADS"] = str(threads)


def set_openmp_threads(library: ctypes.CDLL, threads: int) -> None:
    """Set the number of threads for parallel regions that the calling thread starts.

    OpenMP keeps this number, and a pool, for each thread that calls; so the thread
    that opens the engine should be the one that runs it.
    """
    try:
        # oneDNN depends on its OpenMP, so the loader finds the symbol through it.
        setter = library.omp_set_num_threads
    except AttributeError:
        return  # built for one thread or for TBB
    setter(ctypes.c_int(threads))


def openmp_threads(library: ctypes.CDLL) -> int:
    """The number of threads that a parallel region of the calling thread would have."""
    try:
        return int(library.omp_get_max_threads())
    except AttributeError:
        return 1


def hold_blas_to_one_thread() -> list[str]:
    """Set the thread count of each loaded BLAS to one; returns the libraries' paths."""
    held = []
    for path in _loaded_libraries():
        if any(name in Path(path).name for name in _BLAS_NAMES):
            _set_one(ctypes.CDLL(path))
            held.append(path)
    return held


def _set_one(library: ctypes.CDLL) -> None:
    for name in _BLAS_SETTERS:
        try:
            setter = getattr(library, name)
        except AttributeError:
            continue
        setter(ctypes.c_int(1))
        return


def _loaded_libraries() -> Iterable[str]:
    try:
        lines = Path("/proc/self/maps").read_text().splitlines()
    except OSError:
        return []  # not Linux: BLAS keeps its threads
    paths = (line.split(maxsplit=5)[-1] for line in lines if "/" in line)
    return sorted({p for p in paths if ".so" in p or ".dylib" in p})
