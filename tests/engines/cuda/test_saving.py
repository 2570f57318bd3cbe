"""Snapshots of a run on the double: resumed there, or on another engine.

Records come from a database, in the least memory or with a cache of the host's tables.
"""

from dataclasses import replace

import numpy as np
import pytest

from geeps_caffe.config.job import RunSettings
from geeps_caffe.config.param_cache import ParamCache
from tests.cuda_double.fixtures import double
from tests.execution.recordings import inside
from tests.execution.small import NET, Run, make_place, same_weights

__all__ = ["double"]

GPU = RunSettings(engine="cuda", seed=1, threads=1)
SETTINGS = {
    "free": GPU,
    "readable": replace(GPU, keep_all=True),
    "cached": replace(GPU, param_cache=ParamCache()),
}
TEST_NET = 'test_iter: 2 test_interval: 2 test_net: "net.prototxt" '
TYPES = ["SGD", "Nesterov", "AdaGrad", "RMSProp", "AdaDelta", "Adam"]
TUNED = 'type: "{}" weight_decay: 0.01 momentum: {} clip_gradients: 0.5 '


@pytest.fixture(autouse=True)
def place(tmp_path, double):
    make_place(tmp_path, NET.replace("10 weight", "13 weight"))
    with inside(tmp_path):
        yield


@pytest.mark.parametrize("format", ["BINARYPROTO", "HDF5"])
@pytest.mark.parametrize("name", SETTINGS)
def test_a_resumed_run_is_the_one_that_went_on(name, format):
    text = f"{TEST_NET} snapshot: 3 snapshot_diff: true snapshot_format: {format}"
    end = ".h5" if format == "HDF5" else ""
    with Run(text, settings=SETTINGS[name]) as whole:
        whole.trainer.step(6)
        with Run(TEST_NET, settings=SETTINGS[name]) as resumed:
            resumed.trainer.restore(f"solver_iter_3.solverstate{end}")
            resumed.trainer.step(3)
            assert same_weights(whole.weights(), resumed.weights())


@pytest.mark.parametrize("kind", TYPES)
def test_every_rule_goes_on_from_the_state_of_another_engine(kind):
    text = TUNED.format(kind, 0.0 if kind in ("AdaGrad", "RMSProp") else 0.9)
    text += "debug_info: true "
    cpu = replace(GPU, engine="reference")
    with Run(f"{text} snapshot: 2", settings=cpu) as whole:
        whole.trainer.step(4)
        wanted = whole.weights()
    with Run(text, settings=GPU) as resumed:
        resumed.trainer.restore("solver_iter_2.solverstate")
        resumed.trainer.step(2)
        for key, found in resumed.weights().items():
            np.testing.assert_allclose(found, wanted[key], 1e-5, 1e-6)
