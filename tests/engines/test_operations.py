"""The battery, run for every engine that this machine has."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from geeps_caffe.engines.onednn.library import OneDnnMissing
from geeps_caffe.engines.table import ENGINES, open_engine
from tests.engines.battery import (
    Trial,
    assert_close,
    check,
    expected,
    gradients,
    random_arrays,
)
from tests.engines.cases import (
    ACTIVATED,
    ACTIVATIONS,
    BATCH_NORMS,
    CASES,
    CONVOLUTIONS,
    DECONVOLUTIONS,
    INNER_PRODUCTS,
    SCALES_IN_PLACE,
)


@pytest.fixture(scope="module", params=[e for e in ENGINES if e != "cuda"])
def engine(request):
    try:
        return open_engine(request.param, 2)
    except OneDnnMissing as missing:
        pytest.skip(str(missing))


def by_name(cases):
    return pytest.mark.parametrize("case", cases, ids=lambda case: case.name)


@by_name(CASES)
@pytest.mark.parametrize("home", ["plain", "favourite"])
def test_both_passes_are_the_definition(engine, case, home, rng):
    check(engine, case, rng, home=home)


WITH_SEVERAL_GRADIENTS = [case for case in CASES if 1 < len(gradients(case)) < 4]


@by_name(WITH_SEVERAL_GRADIENTS)
def test_gradients_are_written_each_without_the_others(engine, case, rng):
    everything = range(len(gradients(case)))
    for size in range(1, len(everything)):
        for which in combinations(everything, size):
            check(engine, case, rng, which=which, home="favourite")


@by_name([*ACTIVATIONS, *BATCH_NORMS, *SCALES_IN_PLACE])
@pytest.mark.parametrize("home", ["plain", "favourite"])
def test_runs_in_place(engine, case, home, rng):
    check(engine, case, rng, home=home, in_place=True)


@by_name([*CASES, *ACTIVATED])
def test_forward_alone_saves_nothing(engine, case, rng):
    arrays = random_arrays(case, rng)
    trial = Trial(engine, case, "favourite", training=False)
    if trial.forward(arrays):
        assert not trial.saved
        right = expected(case, arrays, [])
        for port, found in trial.results.items():
            assert_close(found, right[port], port)
    else:
        assert engine.name in case.declined


@by_name([*CONVOLUTIONS, *DECONVOLUTIONS, *INNER_PRODUCTS])
def test_weights_stay_in_the_layout_that_training_asked_for(engine, case):
    """A second net on the same table may not make the plan reorder at every step."""
    request = Trial(engine, case).forward_request()
    table = engine.describe(request).layouts["param0"]
    given = {**request.given, "param0": table}
    again = replace(request, given=given, training=False)
    assert engine.describe(again).layouts["param0"] == table


def test_float64_is_the_references_own(engine):
    request = Trial(engine, CASES[0]).forward_request()
    description = engine.describe(replace(request, given={}, dtype=np.float64))
    assert (description is not None) == (engine.name == "reference")
