"""Convolutions through cuDNN's frontend, on a stand-in for it."""

import gc
import sys

import numpy as np
import pytest

from geeps_caffe.engines.cuda.columns import geometry
from geeps_caffe.engines.cuda.cudnn import UNWANTED, open_cudnn
from geeps_caffe.engines.cuda.engine import CudaEngine
from geeps_caffe.engines.operations import Convolution
from tests.cuda_double.cudnn import make_cudnn
from tests.cuda_double.fixtures import double
from tests.engines.battery import check
from tests.engines.cases import CONVOLUTIONS, DECONVOLUTIONS

__all__ = ["double"]


@pytest.fixture(params=[False, True], ids=["planned", "unsupported"])
def cudnn(request, double, monkeypatch):
    module = make_cudnn(double.machine, unsupported=request.param)
    monkeypatch.setitem(sys.modules, "cudnn", module)
    return module


@pytest.mark.parametrize(
    "case", [*CONVOLUTIONS, *DECONVOLUTIONS], ids=lambda case: case.name
)
def test_both_passes_are_the_definition(cudnn, case, rng, monkeypatch):
    engine = CudaEngine()
    monkeypatch.setattr("tests.engines.battery.allocate", engine.device.allocate)
    with engine.device.running():
        check(engine, case, rng)
    for graph in cudnn.made:
        assert set(graph.deselected) == set(UNWANTED)
        assert graph.workspace is not None


def test_a_handle_ends_with_what_calls_by_it(double, monkeypatch):
    """Each takes memory of the device."""
    module = make_cudnn(double.machine)
    monkeypatch.setitem(sys.modules, "cudnn", module)
    cudnn = open_cudnn(double)
    sizes = geometry(
        Convolution((1, 1), (1, 1), (0, 0), (1, 1), 1, False),
        (1, 1, 2, 2),
        (1, 1, 2, 2),
    )
    x, y, w = (double.ones(n, np.float32) for n in (4, 4, 1))
    call = cudnn.bind("correlate", sizes, {"x": x, "y": y, "w": w}, x[:0])
    del cudnn
    gc.collect()
    assert len(module.handles) == 1
    del call
    gc.collect()
    assert not module.handles


ERRORS = [
    "OSError('libcudnn.so')",
    "RuntimeError('no driver')",
    "ModuleNotFoundError('no cuda', name='cuda')",
]


@pytest.mark.parametrize("error", ERRORS)
def test_without_its_library_one_line_says_that_columns_do(
    double, tmp_path, monkeypatch, caplog, error
):
    """Frontends load it when they are imported, or for their first handle."""
    (tmp_path / "cudnn.py").write_text(f"raise {error}")
    monkeypatch.delitem(sys.modules, "cudnn", raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    assert open_cudnn(double) is None
    (record,) = caplog.records
    assert "convolutions without cuDNN" in record.getMessage()


def test_without_its_frontend_nothing_is_said(double, monkeypatch, caplog):
    monkeypatch.setitem(sys.modules, "cudnn", None)
    assert open_cudnn(double) is None
    assert not caplog.records
