"""Costs measured in a net's first steps: how long each instruction takes here."""

import time
from collections import defaultdict
from collections.abc import Mapping
from statistics import median

import numpy as np

from geeps_caffe.device.device import Call, Device
from geeps_caffe.execution.executor import Executor
from geeps_caffe.schedule.costs import CostModel, Costs
from geeps_caffe.schedule.instructions import Instruction, Table
from geeps_caffe.schedule.program import Program

STEPS = 4  # that are measured; the first one warms up
_PROBE = 1 << 25  # bytes of a copy that is timed


class Measurement:
    """The times of instructions so far, by their text."""

    def __init__(self) -> None:
        self._times: dict[str, list[float]] = defaultdict(list)
        self._steps = 0

    @property
    def done(self) -> bool:
        """Whether enough steps were measured."""
        return self._steps >= STEPS

    def step(self, executor: Executor, first: bool) -> None:
        """A step that waits for each instruction."""
        device, before = executor.device, [time.perf_counter()]

        def after(position: int, entry: Instruction) -> None:
            del position
            device.synchronise()
            now = time.perf_counter()
            if self._steps:
                self._times[entry.text].append(now - before[0])
            before[0] = now

        executor.watch(first, after)
        self._steps += 1

    def model(self, device: Device) -> CostModel:
        """Costs of any program whose instructions were seen.

        Waiting for other workers is no cost of the device.
        """
        seconds = {text: median(times) for text, times in self._times.items()}
        rates = copy_rates(device)

        def costs(program: Program) -> Costs:
            found = tuple(_seconds(entry, seconds) for entry in program.instructions)
            return Costs(found, *rates, overlap=not device.on_host)

        return costs


def _seconds(entry: Instruction, known: Mapping[str, float]) -> float:
    return 0.0 if isinstance(entry, Table) else known.get(entry.text, 0.0)


def copy_rates(device: Device) -> tuple[float, float]:
    """Bytes per second of copies from pinned memory to the device and back."""
    here, there = device.allocate_pinned(_PROBE), device.allocate(_PROBE)
    here[...] = np.uint8(1)
    copies = (device.bind_copy_in(here, there), device.bind_copy_out(there, here))
    rates = [_PROBE / _time(device, copy) for copy in copies]
    return rates[0], rates[1]


def _time(device: Device, copy: Call) -> float:
    """The median of some runs, in seconds."""
    times = []
    for _ in range(3):
        start = time.perf_counter()
        with device.running():
            copy()
        device.synchronise()
        times.append(time.perf_counter() - start)
    return max(median(times), 1e-9)
