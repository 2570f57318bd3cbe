"""Every recorded case of layers and solvers on the double, its order checked."""

from pathlib import Path

import numpy as np
import pytest

from geeps_caffe.config.job import RunSettings
from tests.cuda_double.fixtures import double
from tests.execution import test_golden as layers
from tests.execution import test_golden_solvers as solvers
from tests.execution.recordings import (
    check_masked_recording,
    check_recording,
    inside,
)
from tests.execution.test_golden import beside_files
from tests.execution.test_golden_solvers import place

__all__ = ["beside_files", "double", "place"]

pytestmark = pytest.mark.usefixtures("double")


@pytest.mark.parametrize("name", layers.CASES)
def test_layer(name, tmp_path, request):
    path = layers.FOLDER / name
    if "files/" not in str(np.load(path)["prototxt"]) and "Python" not in name:
        check_recording(path, "cuda", tmp_path)
        return
    with inside(request.getfixturevalue("beside_files")):
        check_recording(path, "cuda", tmp_path)


def test_dropout_recorded_in_training_differs_in_its_mask_only(tmp_path):
    check_masked_recording(layers.MASKED, "cuda", tmp_path)


@pytest.mark.parametrize("case", solvers.CASES)
def test_solver(case, place):
    settings = RunSettings(engine="cuda", seed=1, keep_all=True)
    solvers.test_run(case, settings, Path(place))
