"""Do nets learn the same bits with CUDA graphs and without, and in less memory?"""

import logging
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TypeAlias

import numpy as np

from benchmarks.gpu_times import ours, stepper
from geeps_caffe.device.array import Array
from geeps_caffe.engines.cuda.engine import CudaEngine

#: What is checked; and the check, which says "ok" or what is wrong.
Outcome: TypeAlias = tuple[str, Callable[[], str]]

NETS = {"lenet": 64, "alexnet": 16}  # batches
STEPS = 6  # graphs are captured before the third
#: How a run may differ: of the budget, by the least one, and whether there are graphs.
WAYS: Mapping[str, tuple[float | None, bool]] = {
    "with graphs": (None, True),
    "in the least memory": (1.0, False),
    "in the least memory, with graphs": (1.0, True),
    "in 1.3 times of it, with graphs": (1.3, True),
}


def bits(engine: CudaEngine, only: str) -> Iterator[Outcome]:
    """Each way for each net, beside a run with all memory and no graphs."""
    del engine
    for net in NETS:
        for way in WAYS:
            if only in f"{net} {way}":
                yield f"{net} {way}", partial(_check, net, way)


def _check(net: str, way: str) -> str:
    said: list[str] = []
    wanted, least = _learned(net, None, False, said)
    factor, graphs = WAYS[way]
    budget = None if factor is None else int(factor * least)
    found, _ = _learned(net, budget, graphs, said)
    if said:
        return said[0]
    unlike = [key for key in wanted if not np.array_equal(wanted[key], found[key])]
    return f"{', '.join(unlike)} differ" if unlike else "ok"


def _learned(
    net: str, budget: int | None, graphs: bool, said: list[str]
) -> tuple[dict[str, Array], int]:
    """The weights after some steps, and the least budget; warnings go to `said`."""
    log, told = logging.getLogger("geeps_caffe"), _Told(said)
    log.addHandler(told)
    try:
        training = ours(net, NETS[net], memory=budget, graphs=graphs)
        step = stepper(training)
        for iteration in range(STEPS):
            step(iteration)
        keys = training.net.graph.params
        weights = {key: np.array(training.net.param(key)) for key in keys}
        least = training.net.executor.plan.least_bytes
        training.close()
    finally:
        log.removeHandler(told)
    return weights, least


class _Told(logging.Handler):
    """Keeps what is warned of, such as a capture that CUDA refuses."""

    def __init__(self, said: list[str]) -> None:
        super().__init__(logging.WARNING)
        self._said = said

    def emit(self, record: logging.LogRecord) -> None:
        """Keep it."""
        self._said.append(record.getMessage())
