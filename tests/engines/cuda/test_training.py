"""LeNet on the double: the weights of the reference, whatever memory there is.

Swaps are copies on queues of their own, run as late as their events allow.
"""

import numpy as np
import pytest

from geeps_caffe.caffe import get_solver
from geeps_caffe.config.job import RunSettings
from geeps_caffe.device.backend import CudaDevice
from geeps_caffe.device.streams import COMPUTE
from geeps_caffe.execution.executor import Executor
from geeps_caffe.execution.queues import in_queues
from geeps_caffe.schedule.instructions import SwapIn, SwapOut
from tests.cuda_double.fixtures import double
from tests.cuda_double.order import OrderError

__all__ = ["double"]

LENET = """
name: "LeNet" force_backward: false
layer { name: "data" type: "Input" top: "data" top: "label"
  input_param { shape { dim: 8 dim: 1 dim: 28 dim: 28 } shape { dim: 8 } } }
layer { name: "conv1" type: "Convolution" bottom: "data" top: "conv1"
  convolution_param { num_output: 20 kernel_size: 5 weight_filler { type: "xavier" } } }
layer { name: "pool1" type: "Pooling" bottom: "conv1" top: "pool1"
  pooling_param { pool: MAX kernel_size: 2 stride: 2 } }
layer { name: "conv2" type: "Convolution" bottom: "pool1" top: "conv2"
  convolution_param { num_output: 50 kernel_size: 5 weight_filler { type: "xavier" } } }
layer { name: "pool2" type: "Pooling" bottom: "conv2" top: "pool2"
  pooling_param { pool: MAX kernel_size: 2 stride: 2 } }
layer { name: "ip1" type: "InnerProduct" bottom: "pool2" top: "ip1"
  inner_product_param { num_output: 100 weight_filler { type: "xavier" } } }
layer { name: "relu1" type: "ReLU" bottom: "ip1" top: "ip1" }
layer { name: "ip2" type: "InnerProduct" bottom: "ip1" top: "ip2"
  inner_product_param { num_output: 10 weight_filler { type: "xavier" } } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip2" bottom: "label" top: "loss" }
"""
SOLVER = 'base_lr: 0.05 momentum: 0.9 lr_policy: "fixed" random_seed: 3 net: "{net}"'
STEPS = 4


class QueuedExecutor(Executor):
    """Swaps go to the copy queues; all else to that of computing."""

    leave_out = None  # a swap of this kind gets no event: a planted fault

    def __init__(self, graph, plan, engine, *args, **options):
        self.device = engine.device
        super().__init__(graph, plan, engine, *args, **options)
        ordered = in_queues(plan, self.calls, self.device.queues)
        kind = self.leave_out
        for i, entry in enumerate(plan.instructions):
            if kind is None or not isinstance(entry, kind):
                self.calls[i] = ordered[i]

    def _bind_swap(self, position, instruction):
        arena, host = self.memory.swap_block(instruction.storage, position)
        if isinstance(instruction, SwapIn):
            return self.device.bind_copy_in(host, arena)
        return self.device.bind_copy_out(arena, host, poison=True)

    def step(self, first=True):
        self.device.cupy.cuda.get_current_stream().synchronize()  # what was fed
        with self.device.queues.on(COMPUTE):
            super().step(first)
        self.device.synchronise()


def train(tmp_path, engine, memory=None):
    """The weights after some steps, and the executor."""
    (tmp_path / "net.prototxt").write_text(LENET)
    solver = tmp_path / "solver.prototxt"
    solver.write_text(SOLVER.format(net=tmp_path / "net.prototxt"))
    settings = RunSettings(engine=engine, seed=3, memory=memory)
    trained = get_solver(str(solver), settings)
    rng = np.random.default_rng(1)
    for _ in range(STEPS):
        trained.net.blobs["data"].data[...] = rng.standard_normal((8, 1, 28, 28))
        trained.net.blobs["label"].data[...] = rng.integers(0, 10, 8)
        trained.step(1)
    blobs = {n: [np.array(b.data) for b in p] for n, p in trained.net.params.items()}
    return blobs, trained.net._net.executor


@pytest.fixture
def on_device(double, monkeypatch):
    device = CudaDevice()
    for module in ("execution.memory", "paramserver.local"):
        monkeypatch.setattr(f"geeps_caffe.{module}.allocate", device.allocate)
    monkeypatch.setattr("geeps_caffe.execution.net.Executor", QueuedExecutor)
    return double


def test_lenet_trains_to_the_weights_of_the_reference(on_device, tmp_path, monkeypatch):
    found, _ = train(tmp_path, "cuda")
    monkeypatch.undo()
    wanted, _ = train(tmp_path, "reference")
    for name, blobs in wanted.items():
        for mine, theirs in zip(found[name], blobs, strict=True):
            np.testing.assert_allclose(mine, theirs, 1e-4, 1e-6)


def least_memory(executor):
    return executor.plan.least_bytes


def test_lenet_is_the_same_bit_for_bit_in_the_least_memory(on_device, tmp_path):
    wanted, executor = train(tmp_path, "cuda")
    found, swapping = train(tmp_path, "cuda", least_memory(executor))
    swaps = [i for i in swapping.plan.instructions if isinstance(i, SwapIn | SwapOut)]
    assert swaps, "so little memory makes arrays leave"
    for name, blobs in wanted.items():
        for mine, theirs in zip(found[name], blobs, strict=True):
            np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("kind", [SwapIn, SwapOut])
def test_swaps_without_events_are_found(on_device, tmp_path, monkeypatch, kind):
    _, executor = train(tmp_path, "cuda")
    monkeypatch.setattr(QueuedExecutor, "leave_out", kind)
    with pytest.raises(OrderError):
        train(tmp_path, "cuda", least_memory(executor))
