"""What the paper's model comes to, and what its device's constants are from."""

import pytest

from benchmarks.adamlike import (
    FITTING,
    K20C,
    MACHINES,
    by_algorithm_2,
    by_costs,
    case,
    fitted,
    pass_seconds,
)
from benchmarks.figures import open_by_kind
from geeps_caffe.schedule.algorithm2 import whole_capacity


@pytest.fixture(scope="module")
def found():
    return case(200)


def test_two_constants_are_fitted_to_the_points_where_everything_fits():
    best = fitted(K20C)
    assert best.flops == pytest.approx(K20C.flops, rel=0.01)
    assert best.batch_overhead == pytest.approx(K20C.batch_overhead, rel=0.02)


@pytest.mark.parametrize("batch", FITTING)
def test_they_give_the_papers_speeds_there(batch):
    speed = batch / sum(pass_seconds(case(batch), K20C).values())
    assert speed == pytest.approx(FITTING[batch] / MACHINES, rel=0.03)


def test_algorithm_2_has_the_papers_share_of_the_speed_in_35_percent(found):
    whole = whole_capacity(found.accesses)
    full = by_algorithm_2(found, whole)
    assert by_algorithm_2(found, int(0.35 * whole)) / full >= 0.73


def test_the_cost_aware_planner_has_nine_tenths_in_half_and_in_a_quarter(found):
    whole = whole_capacity(found.accesses)
    full = by_costs(found, whole)
    for share in (0.5, 0.35, 0.25):
        assert by_costs(found, int(share * whole)) / full >= 0.9


def test_less_than_twice_the_peak_is_refused_by_algorithm_2_alone(found):
    assert by_algorithm_2(found, 1_500_000_000) is None
    assert by_costs(found, 1_500_000_000) > 0


def test_figure_11_tells_what_a_step_is_made_of(found):
    steps = dict(open_by_kind(found.accesses))
    local, params, updates = (x / 2**30 for x in steps["backward fc8"])
    assert (params, updates) == pytest.approx((0.246, 0.246), abs=0.001)
    assert local == pytest.approx(0.267, abs=0.001)
