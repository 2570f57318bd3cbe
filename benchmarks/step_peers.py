"""The peers of a benchmark, ours first: each in a process of its own, on request.

A peer trains one net on one batch. Asked for `losses` it does its first steps, with
the same weights and dropout masks as the others (real Caffe draws masks of its own);
asked for `times` it does more, and returns how long each took.
"""

import contextlib
import ctypes
import time
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from benchmarks.caffe_peer import CaffePeer
from benchmarks.memory import Memory
from benchmarks.models import MODELS, batch_of, flops, read_model, solver_of
from geeps_caffe.config.job import RunSettings
from geeps_caffe.device.array import Array
from geeps_caffe.device.philox import Stream
from geeps_caffe.execution.trainer import Trainer
from geeps_caffe.graph.build import Source, build_graph
from geeps_caffe.graph.filter import NetState
from geeps_caffe.graph.graph import Graph

SEED = 1


@dataclass(frozen=True)
class Task:
    """What all peers do."""

    net: str
    corpus: str
    threads: int
    weights: str  # file through which the first weights go from us to the others
    share: bool | None = None
    caffe: str = ""  # an interpreter that has real Caffe's pycaffe


class Stepper(Protocol):
    """A net that is trained."""

    def step(self, iteration: int) -> float:
        """One step; the loss before it."""


class Ours:
    """Our training, on oneDNN."""

    def __init__(self, task: Task) -> None:
        model = MODELS[task.net]
        solver = solver_of(model, read_model(model, Path(task.corpus)))
        settings = RunSettings(
            engine="onednn", threads=task.threads, seed=SEED, share=task.share
        )
        self.training = Trainer(solver, "", settings).training
        self.rate = solver.base_lr
        net = self.training.net
        images, labels = batch_of(model)
        net.executor.value("data")[...] = images
        net.executor.value("label")[...] = labels
        if task.weights:
            np.savez(task.weights, **{key: net.param(key) for key in net.graph.params})

    def step(self, iteration: int) -> float:
        """See Stepper."""
        return self.training.iterate(iteration, self.rate)


class Torch:
    """PyTorch as its tutorials have it: eager, or compiled."""

    def __init__(self, task: Task, channels_last: bool, compiled: bool) -> None:
        import torch  # noqa: PLC0415 - ours must not pay for it

        from benchmarks.torch_net import TorchNet  # noqa: PLC0415

        torch.set_num_threads(task.threads)
        model = MODELS[task.net]
        self.torch = torch
        graph = graph_of(task)
        with np.load(task.weights) as weights:
            self.net = TorchNet(graph, weights)
        images, labels = batch_of(model)
        self.images, self.labels = torch.tensor(images), torch.tensor(labels)
        if channels_last:
            self.net.to_channels_last()
            self.images = self.images.to(memory_format=torch.channels_last)
        self.loss = torch.compile(self.net.loss) if compiled else self.net.loss
        self.drops = {
            node.name: (graph.values[node.tops[0]].shape, node.layer)
            for node in graph.nodes
            if node.type == "Dropout"
        }
        solver = solver_of(model, None)
        groups = self.net.groups(solver.base_lr, solver.weight_decay)
        self.optimizer = torch.optim.SGD(groups, lr=1.0, momentum=solver.momentum)

    def mask(self, iteration: int) -> None:
        """Take our dropout masks for this iteration."""
        for name, (shape, layer) in self.drops.items():
            records = np.arange(shape[0], dtype=np.int64)
            stream = Stream(SEED, zlib.crc32(name.encode()), iteration, records)
            ratio = layer.spec.dropout_param.dropout_ratio
            kept = stream.bits(shape) >= int(ratio * 2**32)
            self.net.masks[name] = self.torch.tensor(kept.astype(np.float32))

    def step(self, iteration: int) -> float:
        """See Stepper."""
        self.optimizer.zero_grad(set_to_none=True)
        loss = self.loss(self.images, self.labels)
        loss.backward()
        self.optimizer.step()
        return loss.item()


def graph_of(task: Task) -> Graph:
    """The net's graph, with data layers replaced."""
    message = read_model(MODELS[task.net], Path(task.corpus))
    return build_graph(Source(message), NetState("TRAIN"))


def gflop_of(task: Task) -> float:
    """Of one step."""
    return flops(graph_of(task)) / 1e9


def make(kind: str, task: Task) -> Stepper:
    """The peer called "ours", "torch", "channels_last" or "compiled"."""
    if kind == "ours":
        return Ours(task)
    return Torch(task, channels_last=kind != "torch", compiled=kind == "compiled")


# -- processes -----------------------------------------------------------------


class Peer(Protocol):
    """A peer's process; calls wait for the answer."""

    def ask(self, what: str, number: int = 0) -> Any:
        """Send a request; returns its answer."""

    def close(self) -> None:
        """End the process."""


class PythonPeer:
    """Ours or PyTorch, in a process of this interpreter."""

    def __init__(self, kind: str, task: Task) -> None:
        context = get_context("spawn")
        self._mine, theirs = context.Pipe()
        self._process = context.Process(target=serve, args=(theirs, kind, task))
        self._process.start()
        theirs.close()  # so that a peer that dies ends our waiting
        self.ask("ready")

    def ask(self, what: str, number: int = 0) -> Any:
        """See Peer."""
        self._mine.send((what, number))
        answer = self._mine.recv()
        if isinstance(answer, Exception):
            raise answer
        return answer

    def close(self) -> None:
        """See Peer."""
        with contextlib.suppress(BrokenPipeError):
            self._mine.send(("end", 0))
        self._process.join()


def start(kind: str, task: Task) -> Peer:
    """A process for "caffe", or a kind that `make` knows."""
    if kind != "caffe":
        return PythonPeer(kind, task)
    return CaffePeer(task.caffe, task.net, task.corpus, task.threads, task.weights)


@contextlib.contextmanager
def peers(kinds: list[str], task: Task) -> Iterator[dict[str, Peer]]:
    """Processes for each kind, ours first: it writes the weights."""
    found: dict[str, Peer] = {}
    try:
        for kind in kinds:
            found[kind] = start(kind, task)
        yield found
    finally:
        for peer in found.values():
            peer.close()


def serve(connection: Connection, kind: str, task: Task) -> None:
    """Answer requests until the end."""
    peer = make(kind, task)
    memory = Memory()
    done = 0
    while (request := connection.recv())[0] != "end":
        what, number = request
        answer: Any = None
        if what == "losses":
            answer = [_masked(peer, done + i) for i in range(number)]
            done += number
            if kind != "ours":
                peer.net.masks.clear()  # type: ignore[attr-defined]
        elif what == "times":
            answer = [_timed(peer, done + i) for i in range(number)]
            done += number
        elif what == "memory":
            answer = memory.peak()
        elif what == "peak":
            answer = _sgemm_gflops(peer)
        connection.send(answer)


def _masked(peer: Stepper, iteration: int) -> float:
    if isinstance(peer, Torch):
        peer.mask(iteration)
    return peer.step(iteration)


def _timed(peer: Stepper, iteration: int) -> float:
    start = time.perf_counter()
    peer.step(iteration)
    return time.perf_counter() - start


def _sgemm_gflops(peer: Stepper, size: int = 1536) -> float:
    """What this machine does now in a matrix product of oneDNN's."""
    assert isinstance(peer, Ours)
    library = peer.training.engine.kit.api.library  # type: ignore[attr-defined]
    a, b, c = np.ones((3, size, size), np.float32)
    n, one, zero = ctypes.c_int64(size), ctypes.c_float(1), ctypes.c_float(0)
    letter = ctypes.c_char(b"N")

    def product() -> None:
        library.dnnl_sgemm(
            letter, letter, n, n, n, one, _at(a), n, _at(b), n, zero, _at(c), n
        )

    return 2e-9 * size**3 / _least(product, 5)


def _at(array: Array) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


def _least(call: Callable[[], None], times: int) -> float:
    found = []
    for _ in range(times):
        start = time.perf_counter()
        call()
        found.append(time.perf_counter() - start)
    return min(found)
