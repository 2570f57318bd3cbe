"""How fast is a GPU? Training steps of known nets, beside PyTorch, and in less memory.

TF32 is off for both: cuBLAS has it off by default, PyTorch is told so.
"""

import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.models import MODELS, Model, batch_of, read_model, solver_of
from geeps_caffe.config.job import RunSettings
from geeps_caffe.execution.nets import solver_nets
from geeps_caffe.execution.training import Training
from geeps_caffe.graph.build import Source, build_graph
from geeps_caffe.graph.filter import NetState

SHARES = (1.0, 0.75, 0.5, 0.35)  # of the memory that is needed without swapping
WARM_UP = 3


@dataclass(frozen=True)
class Times:
    """Of steps, in milliseconds."""

    name: str
    median: float
    least: float

    def __str__(self) -> str:
        """One line."""
        return f"{self.name}: {self.median:.2f} ms (least {self.least:.2f})"


def measure(name: str, step: Callable[[int], object], steps: int) -> Times:
    """Each step is waited for: `step` returns the loss, which is on the host."""
    found = []
    for i in range(WARM_UP + steps):
        start = time.perf_counter()
        step(i)
        found.append(1e3 * (time.perf_counter() - start))
    return Times(name, statistics.median(found[WARM_UP:]), min(found[WARM_UP:]))


def ours(model: Model, corpus: Path, memory: int | None = None) -> Training:
    """A training of ours on the GPU, its one batch in place."""
    solver = solver_of(read_model(model, corpus))
    settings = RunSettings(engine="cuda", seed=1, memory=memory, share=True)
    training = Training(
        solver, solver_nets(solver, "", NetState("TRAIN")), settings, None
    )
    executor = training.net.executor
    for name, values in zip(("data", "label"), batch_of(model), strict=True):
        array = executor.plan.program.data[name]
        executor.copy_in(array, values.astype(np.float32))
    return training


def stepper(training: Training) -> Callable[[int], object]:
    """One step at a rate that keeps every net stable."""
    return lambda iteration: training.iterate(iteration, 1e-4)


def pytorch(model: Model, corpus: Path, *, compiled: bool) -> Callable[[int], object]:
    """The same net in PyTorch, eager or compiled."""
    import torch  # noqa: PLC0415 - only this piece needs it

    from benchmarks.torch_net import TorchNet  # noqa: PLC0415

    torch.set_default_device("cuda")
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    graph = build_graph(Source(read_model(model, corpus)), NetState("TRAIN"))
    random = np.random.default_rng(1)
    weights = {
        key: random.normal(0, 0.01, param.shape).astype(np.float32)
        for key, param in graph.params.items()
    }
    net = TorchNet(graph, weights)
    images, labels = (torch.tensor(values) for values in batch_of(model))
    solver = solver_of(None)
    groups = net.groups(solver.base_lr, solver.weight_decay)
    optimizer = torch.optim.SGD(groups, lr=1.0, momentum=solver.momentum)
    loss_of: Any = torch.compile(net.loss) if compiled else net.loss

    def step(iteration: int) -> object:
        del iteration
        optimizer.zero_grad(set_to_none=True)
        loss = loss_of(images, labels)
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


def side_by_side(
    net: str, corpus: Path, batch: int, steps: int, peers: list[str]
) -> Iterator[Times]:
    """Ours, then each of `peers` ("eager", "compiled")."""
    model = replace(MODELS[net], batch=batch)
    training = ours(model, corpus)
    yield measure(f"{net} batch {batch} ours", stepper(training), steps)
    training.close()
    for peer in peers:
        step = pytorch(model, corpus, compiled=peer == "compiled")
        yield measure(f"{net} batch {batch} torch {peer}", step, steps)


def by_memory(net: str, corpus: Path, batch: int, steps: int) -> Iterator[Times]:
    """Ours with ever less memory of the device."""
    model = replace(MODELS[net], batch=batch)
    training = ours(model, corpus)
    plan = training.net.executor.plan
    need, least = plan.arena_bytes, plan.least_bytes
    training.close()
    for share in SHARES:
        budget = max(int(share * need), least)
        training = ours(model, corpus, budget)
        moved = training.net.executor.plan.moved_bytes
        name = f"{net} batch {batch}, {budget:,} of {need:,} bytes, moves {moved:,}"
        yield measure(name, stepper(training), steps)
        training.close()
