"""LeNet on the double: the weights of the reference, whatever memory there is.

Swaps are copies on queues of their own, run as late as their events allow.
"""

import numpy as np
import pytest

from geeps_caffe.caffe import get_solver
from geeps_caffe.config.job import RunSettings
from geeps_caffe.config.param_cache import ParamCache
from geeps_caffe.device.backend import CudaDevice
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
KINDS = (SwapIn, SwapOut)
CACHES = [None, ParamCache("swapped"), ParamCache("pinned")]


def train(tmp_path, engine, memory=None, **settings):
    """The weights after some steps, and the executor."""
    (tmp_path / "net.prototxt").write_text(LENET)
    solver = tmp_path / "solver.prototxt"
    solver.write_text(SOLVER.format(net=tmp_path / "net.prototxt"))
    settings = RunSettings(
        engine=engine, seed=3, memory=memory, poison=True, **settings
    )
    trained = get_solver(str(solver), settings)
    rng = np.random.default_rng(1)
    for _ in range(STEPS):
        trained.net.blobs["data"].data[...] = rng.standard_normal((8, 1, 28, 28))
        trained.net.blobs["label"].data[...] = rng.integers(0, 10, 8)
        trained.step(1)
    blobs = {n: [np.array(b.data) for b in p] for n, p in trained.net.params.items()}
    return blobs, trained.net._net.executor


@pytest.mark.usefixtures("double")
def test_lenet_trains_to_the_weights_of_the_reference(tmp_path):
    found, _ = train(tmp_path, "cuda")
    wanted, _ = train(tmp_path, "reference")
    for name, blobs in wanted.items():
        for mine, theirs in zip(found[name], blobs, strict=True):
            np.testing.assert_allclose(mine, theirs, 1e-4, 1e-6)


def budgets(plan):
    """From the least memory to all that there could be."""
    least, most = plan.least_bytes, plan.total_bytes
    return [least, (3 * least + most) // 4, (least + most) // 2, most]


def same(found, wanted):
    for name, blobs in wanted.items():
        for mine, theirs in zip(found[name], blobs, strict=True):
            np.testing.assert_array_equal(mine, theirs)


@pytest.mark.usefixtures("double")
@pytest.mark.parametrize("cache", CACHES)
def test_lenet_is_the_same_bit_for_bit_in_any_memory(tmp_path, cache):
    """Swaps run on queues of their own, params and gradients too with a cache."""
    wanted, _ = train(tmp_path, "cuda")
    _, executor = train(tmp_path, "cuda", param_cache=cache)
    swaps = []
    for budget in budgets(executor.plan):
        found, swapping = train(tmp_path, "cuda", budget, param_cache=cache)
        same(found, wanted)
        swaps.append(sum(isinstance(i, KINDS) for i in swapping.plan.instructions))
    assert swaps[0], "so little memory makes arrays leave"


def leave_out(kind):
    """Put a plan's calls in order, but for those of one kind of swap: a fault."""

    def in_order(device, steps, calls):
        ordered = right(device, steps, calls)
        queue = kind("").queue
        return [
            call if step.queue == queue else row
            for step, call, row in zip(steps, calls, ordered, strict=True)
        ]

    right = CudaDevice.in_order
    return in_order


@pytest.mark.usefixtures("double")
@pytest.mark.parametrize("kind", KINDS)
def test_swaps_without_events_are_found(tmp_path, monkeypatch, kind):
    _, executor = train(tmp_path, "cuda")
    monkeypatch.setattr(CudaDevice, "in_order", leave_out(kind))
    with pytest.raises(OrderError):
        train(tmp_path, "cuda", executor.plan.least_bytes)
