"""The battery of all engines, on the double with its order checked."""

from dataclasses import replace

import numpy as np
import pytest

from geeps_caffe.device.backend import GpuMissing
from geeps_caffe.engines.cuda.engine import CudaEngine
from geeps_caffe.engines.engine import Request
from geeps_caffe.engines.operations import Activation, MaxPooling
from tests.cuda_double.fixtures import double
from tests.engines.battery import Trial, assert_close, check, expected, random_arrays
from tests.engines.cases import ACTIVATIONS, BATCH_NORMS, CASES

__all__ = ["double"]

OWN = [case for case in CASES if "cuda" not in case.declined]


@pytest.fixture
def engine(double, monkeypatch):
    """The battery takes its memory from the device, and runs on its queue."""
    engine = CudaEngine()
    monkeypatch.setattr("tests.engines.battery.allocate", engine.device.allocate)
    with engine.device.running():
        yield engine


def by_name(cases):
    return pytest.mark.parametrize("case", cases, ids=lambda case: case.name)


@by_name(CASES)
def test_both_passes_are_the_definition(engine, case, rng):
    check(engine, case, rng)


@by_name([*ACTIVATIONS, *BATCH_NORMS])
def test_runs_in_place(engine, case, rng):
    check(engine, case, rng, in_place=True)


@by_name(OWN)
def test_forward_alone_saves_nothing(engine, case, rng):
    arrays = random_arrays(case, rng)
    trial = Trial(engine, case, training=False)
    assert trial.forward(arrays)
    assert not trial.saved
    right = expected(case, arrays, [])
    assert_close(trial.results["top0"], right["top0"], "top0")


def test_describes_without_cupy(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "cupy", None)
    engine = CudaEngine()
    for case in OWN:
        assert engine.describe(Trial(engine, case).forward_request()) is not None
    with pytest.raises(GpuMissing, match=r"pip install geeps-caffe\[cuda13\]"):
        engine.xp  # noqa: B018


@pytest.mark.parametrize(
    "request_",
    [
        Request(Activation("tanh"), "forward", {"bottom0": (0, 3), "top0": (0, 3)}),
        Request(
            MaxPooling((1,) * 4, (1,) * 4, (0,) * 4),
            "forward",
            {"bottom0": (1, 1, 2, 2, 2, 2), "top0": (1, 1, 2, 2, 2, 2)},
        ),
    ],
    ids=["empty", "four axes"],
)
def test_leaves_to_the_definition_what_kernels_do_not_do(request_):
    assert CudaEngine().describe(request_) is None


def test_float64_is_the_references_own():
    request = Trial(CudaEngine(), CASES[0]).forward_request()
    assert CudaEngine().describe(replace(request, dtype=np.float64)) is None
