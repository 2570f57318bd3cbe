"""Opening a GPU, its memory, and what is said where there is none."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

from geeps_caffe.device.backend import (
    CudaDevice,
    GpuMissing,
    find_loader,
    open_cupy,
)
from geeps_caffe.device.kernels import OPTIONS
from geeps_caffe.device.pycuda_module import make_loader
from geeps_caffe.errors import PlanError, UsageError
from tests.cuda_double.fixtures import double
from tests.cuda_src.build import HostModule

__all__ = ["double"]


def test_without_cupy_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)
    with pytest.raises(GpuMissing, match=r"pip install geeps-caffe\[cuda13\]"):
        open_cupy()


def test_where_cupy_may_not_keep_kernels_the_message_says_how(tmp_path, monkeypatch):
    """CuPy makes its folder when it is imported."""
    (tmp_path / "cupy.py").write_text(
        "raise PermissionError(13, 'denied', '/root/.cupy')"
    )
    monkeypatch.delitem(sys.modules, "cupy", raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(GpuMissing, match=r"denied: '/root/.cupy'\); .*CUPY_CACHE_DIR"):
        open_cupy()


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (PermissionError("denied"), r"keep a kernel \(denied\).*CUPY_CACHE_DIR"),
        (RuntimeError("libnvrtc.so"), r"compile kernels \(libnvrtc.so\).*cuda13"),
        (ImportError("libnvrtc.so"), r"compile kernels \(libnvrtc.so\).*cuda13"),
    ],
)
def test_kernels_that_can_not_be_compiled_are_an_error_at_once(error, message):
    class Module:
        def compile(self):
            raise error

    cupy = SimpleNamespace(RawModule=lambda **options: Module())
    with pytest.raises(UsageError, match=message):
        find_loader(cupy, 0, "cupy")("text of a kernel file")


def no_driver():
    raise RuntimeError("cudaErrorInsufficientDriver")


@pytest.mark.parametrize(
    ("count", "message"),
    [(no_driver, "InsufficientDriver.*needs an NVIDIA driver"), (lambda: 0, "no NVID")],
)
def test_without_a_device_the_message_names_another_engine(monkeypatch, count, message):
    runtime = SimpleNamespace(getDeviceCount=count)
    cupy = SimpleNamespace(cuda=SimpleNamespace(runtime=runtime))
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    with pytest.raises(GpuMissing, match=f"{message}.*--engine onednn"):
        open_cupy()


def test_arenas_are_zeroed_bytes(double):
    device = CudaDevice()
    block, pinned = device.allocate(70), device.allocate_pinned(70)
    assert block.shape == pinned.shape == (70,)
    assert not device.to_host(block).any() and not pinned.any()
    assert device.allocate_pinned(0).size == 0


def test_what_has_no_room_is_refused_with_what_to_do(double):
    double.machine.room = 1000
    device = CudaDevice()
    message = r"GPU 0 has no room for 2,000 bytes: 3,221,225,472 of .*-gpu_memory"
    with pytest.raises(PlanError, match=message):
        device.allocate(2000)
    message = r"2,000 bytes of the host's memory can't be locked .*MemoryAllocation"
    with pytest.raises(PlanError, match=message):
        device.allocate_pinned(2000)
    assert device.allocate(900).nbytes == device.allocate_pinned(900).nbytes == 900


def test_values_go_to_the_device_and_back(double, rng):
    device, values = CudaDevice(), rng.standard_normal((3, 4))
    np.testing.assert_array_equal(device.to_host(device.to_device(values)), values)
    target = device.to_device(np.zeros((3, 4)))
    device.write(target, values)
    np.testing.assert_array_equal(device.to_host(target), values)


def test_an_unknown_loader_is_refused(double):
    with pytest.raises(UsageError, match="did you mean 'pycuda'"):
        CudaDevice(kernels="pycud")


def test_pycuda_is_named_where_it_is_missing(double, monkeypatch):
    monkeypatch.setitem(sys.modules, "pycuda", None)
    monkeypatch.setitem(sys.modules, "pycuda.driver", None)
    with pytest.raises(GpuMissing, match=r"pip install geeps-caffe\[pycuda\]"):
        CudaDevice(kernels="pycuda")


class PyCuda:
    """A stand-in that takes addresses, as PyCUDA does, and keeps what is launched."""

    def __init__(self):
        self.launched, self.contexts = [], []
        launched = self.launched

        class SourceModule:
            def __init__(self, source, no_extern_c, options):
                assert no_extern_c and options == list(OPTIONS)
                self.module = HostModule(source)

            def get_function(self, name):
                return lambda *args, grid, block: launched.append(
                    (name, args, grid, block)
                )

        push, pop = (lambda: self.contexts.append(1)), self.contexts.pop
        context = SimpleNamespace(push=push, pop=pop)
        device = SimpleNamespace(retain_primary_context=lambda: context)
        self.driver = SimpleNamespace(init=lambda: None, Device=lambda index: device)
        self.compiler = SimpleNamespace(SourceModule=SourceModule)


@pytest.fixture
def pycuda(monkeypatch):
    found = PyCuda()
    monkeypatch.setitem(sys.modules, "pycuda", SimpleNamespace())
    monkeypatch.setitem(sys.modules, "pycuda.driver", found.driver)
    monkeypatch.setitem(sys.modules, "pycuda.compiler", found.compiler)
    return found


def test_kernels_launch_through_pycuda(double, pycuda):
    found = CudaDevice(kernels="pycuda")
    x = found.to_device(np.ones(300, np.float32))
    found.kernels.bind("activation.cu", "tanh_forward", 300, x, x)()
    ((name, args, grid, block),) = pycuda.launched
    assert (name, grid, block) == ("tanh_forward", (2, 1, 1), (256, 1, 1))
    assert args == (300, x.data.ptr, x.data.ptr)


def test_no_context_of_pycuda_is_left_when_the_process_ends(pycuda):
    """Which would abort it."""
    late = []
    make_loader(0, late.append)
    assert pycuda.contexts
    for call in late:
        call()
    assert not pycuda.contexts
