"""How fast is a GPU? Training steps of known nets, beside PyTorch, and in less memory.

TF32 is off for both: cuBLAS has it off by default, PyTorch is told so.
"""

import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from benchmarks.gpu_nets import SIZES, message_of
from benchmarks.models import batch_of, solver_of
from geeps_caffe.config.job import RunSettings
from geeps_caffe.execution.nets import solver_nets
from geeps_caffe.execution.training import Training
from geeps_caffe.graph.build import Source, build_graph
from geeps_caffe.graph.filter import NetState

SHARES = (1.0, 0.75, 0.5, 0.35)  # of the memory that is needed without swapping
WARM_UP = 8  # steps: costs are measured, kernels compiled, graphs captured


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


def ours(net: str, batch: int, **more: Any) -> Training:
    """A training of ours on the GPU, its one batch in place; `more` are settings."""
    model = replace(SIZES[net], batch=batch)
    solver = solver_of(model, message_of(net, model))
    settings = RunSettings(engine="cuda", seed=1, share=True, **more)
    training = Training(
        solver, solver_nets(solver, "", NetState("TRAIN")), settings, None
    )
    executor = training.net.executor
    for name, values in zip(("data", "label"), batch_of(model), strict=True):
        array = executor.plan.program.data[name]
        executor.copy_in(array, values.astype(np.float32))
    return training


def stepper(training: Training) -> Callable[[int], object]:
    """One step at the model's rate."""
    rate = float(training.solver.base_lr)
    return lambda iteration: training.iterate(iteration, rate)


def pytorch(net: str, batch: int, *, compiled: bool) -> Callable[[int], object]:
    """The same net in PyTorch, eager or compiled."""
    import torch  # noqa: PLC0415 - only this piece needs it

    from benchmarks.torch_net import TorchNet  # noqa: PLC0415

    torch.set_default_device("cuda")
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = True
    model = replace(SIZES[net], batch=batch)
    graph = build_graph(Source(message_of(net, model)), NetState("TRAIN"))
    random = np.random.default_rng(1)
    weights = {
        key: random.normal(0, 0.01, param.shape).astype(np.float32)
        for key, param in graph.params.items()
    }
    module = TorchNet(graph, weights)
    images, labels = (torch.tensor(values) for values in batch_of(model))
    solver = solver_of(model, None)
    groups = module.groups(solver.base_lr, solver.weight_decay)
    optimizer = torch.optim.SGD(groups, lr=1.0, momentum=solver.momentum)
    loss_of: Any = torch.compile(module.loss) if compiled else module.loss

    def step(iteration: int) -> object:
        del iteration
        optimizer.zero_grad(set_to_none=True)
        loss = loss_of(images, labels)
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


def side_by_side(net: str, batch: int, steps: int, peers: list[str]) -> Iterator[Times]:
    """Ours, then each of `peers` ("eager", "compiled")."""
    training = ours(net, batch)
    yield measure(f"{net} batch {batch} ours", stepper(training), steps)
    training.close()
    for peer in peers:
        step = pytorch(net, batch, compiled=peer == "compiled")
        yield measure(f"{net} batch {batch} torch {peer}", step, steps)


def by_memory(net: str, batch: int, steps: int) -> Iterator[Times]:
    """Ours with ever less memory of the device."""
    training = ours(net, batch)
    plan = training.net.executor.plan
    need, least = plan.arena_bytes, plan.least_bytes
    training.close()
    for share in SHARES:
        budget = max(int(share * need), least)
        training = ours(net, batch, memory=budget, costs="measured")
        found = measure("", stepper(training), steps)
        moved = training.net.executor.plan.moved_bytes
        name = f"{net} batch {batch}, {budget:,} of {need:,} bytes, moves {moved:,}"
        yield replace(found, name=name)
        training.close()
