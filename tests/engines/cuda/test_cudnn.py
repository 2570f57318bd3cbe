"""Convolutions through cuDNN's frontend, on a stand-in for it."""

import sys

import pytest

from geeps_caffe.engines.cuda.cudnn import UNWANTED
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
