"""What makes the double a fair stand-in."""

import numpy as np
import pytest

from geeps_caffe.device.backend import CudaDevice
from geeps_caffe.device.kernels import KernelError
from tests.cuda_double.capture import CaptureError
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
    device.bind_copy_out(block, host)()
    there = host.ctypes.data
    assert all(run.left for run in order._runs([(there, there + 64)]))
    del block, host
    double.zeros(1)[...] = 0
    for start in (place, there):
        assert not any(run.left for run in order._runs([(start, start + 64)]))


@pytest.mark.parametrize(
    "write",
    [
        lambda cupy, x, y: x.sum(axis=0, out=y),
        lambda cupy, x, y: cupy.sum(x, axis=0, out=y),
        lambda cupy, x, y: cupy.copyto(y, x[0]),
        lambda cupy, x, y: cupy.add(x[0], x[1], out=y),
    ],
)
def test_what_is_only_written_may_have_left_before(double, write):
    device = CudaDevice(cupy=double)
    block, host = device.allocate(64), device.allocate_pinned(64)
    device.bind_copy_out(block, host, poison=True)()
    device.synchronise()
    left = block.view(np.float32)
    write(double, double.ones((2, 16), np.float32), left)
    assert left.get()[0] in (1, 2)


# -- capture -----------------------------------------------------------------------


def captured(device, *calls):
    return device.queues.bind_graph(list(calls))


def test_what_takes_memory_or_waits_is_refused_in_a_capture(double):
    device = CudaDevice(cupy=double)
    x = double.ones(4, np.float32)
    host = np.zeros(16, np.uint8)
    for call in (
        lambda: double.zeros(3),
        lambda: x + 1,
        lambda: float(x[0]),
        lambda: x.sum(),
        device.synchronise,
        device.bind_copy_in(host, device.allocate(16)),
        device.queues.bind_wait("compute", device.queues.event()),
    ):
        with pytest.raises(CaptureError, match="not in a capture"):
            captured(device, call)
        assert not device.queues.stream("compute").is_capturing()


def test_functions_that_write_into_arrays_are_captured(double):
    device = CudaDevice(cupy=double)
    x, y = double.ones(4, np.float32), double.ones(4, np.float32)

    def fill():
        y[...] = 2

    launch = captured(device, fill, lambda: double.add(x, y, out=x))
    assert (x.get().tolist(), y.get().tolist()) == ([1] * 4, [1] * 4)
    launch()
    launch()
    device.synchronise()
    assert x.get().tolist() == [5] * 4


def test_a_branch_must_be_joined(double):
    queues = CudaDevice(cupy=double).queues
    stream, other = queues.stream("compute"), queues.stream("copy-in")
    block, event = double.zeros(4, np.uint8), queues.event()
    stream.begin_capture()
    stream.record(event)
    other.wait_event(event)
    double.cuda.runtime.memsetAsync(block.data.ptr, 1, 4, other.ptr)
    with pytest.raises(CaptureError, match="Unjoined"):
        stream.end_capture()
    assert not other.is_capturing()
    with pytest.raises(CaptureError, match="capture that is over"):
        stream.wait_event(event)
