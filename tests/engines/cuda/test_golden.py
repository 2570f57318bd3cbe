"""Every recorded case of layers and solvers on the double, its order checked."""

from pathlib import Path

import numpy as np
import pytest

from geeps_caffe.config.job import RunSettings
from geeps_caffe.device.backend import CudaDevice
from geeps_caffe.execution.layer_code import CodeBinder
from tests.cuda_double.fixtures import double
from tests.execution import test_golden as layers
from tests.execution import test_golden_solvers as solvers
from tests.execution.recordings import check_recording, inside
from tests.execution.test_golden import beside_files
from tests.execution.test_golden_solvers import place

__all__ = ["beside_files", "double", "place"]


@pytest.fixture(autouse=True)
def on_device(double, monkeypatch):
    """All memory of plans and tables lies on the device; layers mix in no other."""
    device = CudaDevice()
    for name in ("_forward", "_backward"):
        monkeypatch.setattr(CodeBinder, name, strict(double, getattr(CodeBinder, name)))
    for module in ("execution.memory", "paramserver.local"):
        monkeypatch.setattr(f"geeps_caffe.{module}.allocate", device.allocate)


def strict(double, bind):
    """A layer's own code runs as strictly as CuPy's would."""

    def bound(binder, node, *rest):
        call = bind(binder, node, *rest)

        def run():
            double.machine.strict = not node.layer.is_source
            try:
                call()
            finally:
                double.machine.strict = False

        return run

    return bound


@pytest.mark.parametrize("name", layers.CASES)
def test_layer(name, tmp_path, request):
    path = layers.FOLDER / name
    if "files/" not in str(np.load(path)["prototxt"]) and "Python" not in name:
        check_recording(path, "cuda", tmp_path)
        return
    with inside(request.getfixturevalue("beside_files")):
        check_recording(path, "cuda", tmp_path)


@pytest.mark.parametrize("case", solvers.CASES)
def test_solver(case, place):
    settings = RunSettings(engine="cuda", seed=1, keep_all=True)
    solvers.test_run(case, settings, Path(place))
