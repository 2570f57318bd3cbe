"""What makes the double a fair stand-in."""

import numpy as np
import pytest

from geeps_caffe.device.backend import CudaDevice
from geeps_caffe.device.kernels import KernelError
from tests.cuda_double.fixtures import double

__all__ = ["double"]


def test_arrays_stay_on_the_device(double):
    x = double.zeros((2, 3), np.float32)
    for y in (x + 1, x[0], x.sum(axis=0), double.exp(x), x.reshape(-1), x.T):
        assert isinstance(y, double.ndarray)
        assert y.machine is double.machine
    assert type(x.get()) is np.ndarray


@pytest.mark.parametrize("mix", [lambda x, h: x + h, lambda x, h: h * x])
def test_host_arrays_do_not_mix_with_device_arrays(double, mix):
    x, host = double.zeros(3), np.ones(3)
    with pytest.raises(TypeError):
        mix(x, host)
    with pytest.raises(TypeError):
        x[...] = host
    with pytest.raises(TypeError):
        double.where(x > 0, x, host)
    assert (x + np.float64(1)).get().tolist() == [1, 1, 1]


def test_functions_that_cupy_lacks_are_missing(double):
    with pytest.raises(AttributeError, match="errstate"):
        double.errstate  # noqa: B018


def test_kernels_refuse_memory_of_the_host(double):
    device = CudaDevice(cupy=double)
    x = np.zeros(4, np.float32)
    with pytest.raises(AssertionError, match="x is on the host"):
        device.kernels.bind("activation.cu", "tanh_forward", 4, x, x)()


def test_a_captured_graph_does_its_work_at_each_launch(double):
    device = CudaDevice(cupy=double)
    x = double.ones(4, np.float32)
    add = device.kernels.bind("weighted_sum.cu", "scaled_add", 4, x, x, 1.0)
    launch = device.queues.bind_graph([add])
    assert x.get().tolist() == [1] * 4
    launch()
    launch()
    device.synchronise()
    assert x.get().tolist() == [4] * 4


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ((1.0, 2.0), "3 arguments; expected 4"),
        ((None, None, 1.0), "x is NoneType; expected an array"),
        ((np.zeros(4), np.zeros(4), 1.0), "x holds float64; expected float32"),
        ((np.zeros((4, 4), "f").T, np.zeros(16, "f"), 1.0), "not in C order"),
        ((np.zeros(4, "f"), np.zeros(4, "f"), "a"), "a is str; expected a number"),
    ],
)
def test_wrong_arguments_are_our_error(double, args, message):
    device = CudaDevice(cupy=double)
    with pytest.raises(KernelError, match=message):
        device.kernels.bind("weighted_sum.cu", "scaled_copy", 4, *args)
    with pytest.raises(KernelError, match="did you mean 'scaled_copy'"):
        device.kernels.bind("weighted_sum.cu", "scale_copy", 4, *args)


def test_memory_that_is_given_back_is_forgotten(double):
    device = CudaDevice(cupy=double)
    block, host = device.allocate(64), device.allocate_pinned(64)
    place = block.data.ptr
    device.bind_copy_out(block, host, poison=True)()
    device.synchronise()
    order = double.machine.order
    assert all(run.left for run in order._runs([(place, place + 64)]))
    del block
    double.zeros(1)[...] = 0
    assert not any(run.left for run in order._runs([(place, place + 64)]))
