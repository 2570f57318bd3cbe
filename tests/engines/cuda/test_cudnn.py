"""Convolutions through cuDNN's frontend, on a stand-in for it."""

import sys

import pytest

from geeps_caffe.engines.cuda.cudnn import UNWANTED, open_cudnn
from geeps_caffe.engines.cuda.engine import CudaEngine
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
