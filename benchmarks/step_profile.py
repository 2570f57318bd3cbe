"""Where a training step's time goes, instruction by instruction.

Least times of many steps, so that they say something on a busy machine too.
"""

import time
from collections import defaultdict

import numpy as np

from benchmarks.step_peers import Ours, Task
from geeps_caffe.schedule.instructions import Compute, Instruction

_SHOWN = 40


def profile(task: Task, steps: int) -> list[str]:
    """Lines: the dearest instructions, then all by kind."""
    ours = Ours(task)
    training = ours.training
    executor = training.net.executor
    least = [float("inf")] * len(executor.calls)
    for step in range(steps):
        training.client.set_hyper(ours.rate, step)
        executor.begin(step, np.arange(training.batch, dtype=np.int64))
        for i, call in enumerate(executor.calls):
            start = time.perf_counter()
            call()
            least[i] = min(least[i], time.perf_counter() - start)
    entries = list(zip(least, executor.plan.instructions, strict=True))
    return [*_dearest(entries), *_by_kind(entries)]


def _dearest(entries: list[tuple[float, Instruction]]) -> list[str]:
    lines = []
    for seconds, entry in sorted(entries, key=lambda e: -e[0])[:_SHOWN]:
        shape = ""
        if isinstance(entry, Compute) and entry.request is not None:
            shape = str(next(iter(entry.request.shapes.values())))
        lines.append(f"{1e3 * seconds:9.3f} ms  {entry.text} {shape}")
    return lines


def _by_kind(entries: list[tuple[float, Instruction]]) -> list[str]:
    kinds: dict[str, list[float]] = defaultdict(list)
    for seconds, entry in entries:
        kinds[_kind(entry)].append(seconds)
    kinds["all"] = [seconds for seconds, _ in entries]
    rows = sorted(kinds.items(), key=lambda row: -sum(row[1]))
    return ["", *(f"{1e3 * sum(t):9.3f} ms  {len(t):4} x {k}" for k, t in rows)]


def _kind(entry: Instruction) -> str:
    if not isinstance(entry, Compute):
        return type(entry).__name__ + (f" {entry.text.split()[0]}")
    if entry.request is None:
        return f"layer code {entry.direction}"
    return f"{type(entry.request.operation).__name__} {entry.direction}"
