"""The engines by name, and the choice among them."""

from collections.abc import Callable

from geeps_caffe.engines.cuda.engine import CudaEngine
from geeps_caffe.engines.engine import Engine
from geeps_caffe.engines.onednn.engine import OneDnnEngine
from geeps_caffe.engines.onednn.library import OneDnnMissing
from geeps_caffe.engines.reference.engine import ReferenceEngine
from geeps_caffe.errors import UsageError, unknown

ENGINES: dict[str, Callable[[int | None], Engine]] = {
    "reference": ReferenceEngine,
    "onednn": OneDnnEngine,
    "cuda": CudaEngine,
}


def open_engine(
    name: str | None = None,
    threads: int | None = None,
    advise: Callable[[str], object] = lambda advice: None,
) -> Engine:
    """The engine called `name`; without a name the fastest that this machine has.

    Where that is not what it could be, `advise` is called with one line for the user.

    Raises:
        UsageError: there is no such engine.
        OneDnnError: oneDNN was asked for and is not there, or is one we can't drive.
    """
    if name is not None:
        if name not in ENGINES:
            raise UsageError(unknown("engine", name, ENGINES))
        return ENGINES[name](threads)
    try:
        return OneDnnEngine(threads)
    except OneDnnMissing as missing:
        advise(f"computing with NumPy, many times slower: {missing}")
        return ReferenceEngine(threads)
