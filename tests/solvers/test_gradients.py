from dataclasses import asdict, fields

import numpy as np
import pytest

from geeps_caffe.errors import InputError
from geeps_caffe.solvers import Hyper, clip, normalization, sum_of_squares
from geeps_caffe.solvers.gradients import regularize


def test_a_norm_above_the_limit_is_scaled_to_it():
    clipping = clip(Hyper(0.1, clip_gradients=1.0), [9.0, 16.0])
    assert (clipping.norm, clipping.scale) == (5.0, 0.2)


def test_a_norm_within_the_limit_is_left():
    assert clip(Hyper(0.1, clip_gradients=5.0), [9.0, 16.0]).scale == 1.0


def test_a_gradient_is_clipped_before_it_is_divided_by_iter_size():
    hyper = Hyper(0.1, clip_gradients=1.0, iter_size=2)
    assert normalization(hyper, clip(hyper, [25.0])) == pytest.approx(0.1)


def test_squares_are_summed_in_double_precision():
    grad = np.full(3_000_000, 0.1, np.float32)
    expected = 3_000_000 * float(np.float32(0.1)) ** 2
    assert sum_of_squares(grad) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(("kind", "penalty"), [("L2", [1, -2, 0]), ("L1", [1, -1, 0])])
def test_the_penalty_is_added(kind, penalty):
    weights = np.array([1.0, -2.0, 0.0])
    grad, out, spare = np.ones(3), np.empty(3), np.empty(3)
    hyper = Hyper(0.1, weight_decay=0.5, regularization_type=kind)
    total = regularize(grad, weights, hyper, out, spare)
    np.testing.assert_allclose(total, 1 + 0.5 * np.array(penalty))
    np.testing.assert_array_equal(grad, 1)


def test_multipliers_make_a_blobs_own_rate_and_decay_and_leave_the_rest():
    numbers = {f.name: 2 + i for i, f in enumerate(fields(Hyper))}
    numbers |= {"rate": 0.5, "weight_decay": 3.0, "regularization_type": "L1"}
    found = asdict(Hyper(**numbers).local(lr_mult=2.0, decay_mult=0.0))
    assert found == numbers | {"rate": 1.0, "weight_decay": 0.0}


def test_an_unknown_penalty_is_refused_only_where_it_would_count():
    assert Hyper(0.1, regularization_type="L3").rate == 0.1
    with pytest.raises(InputError, match="unknown regularization_type 'L3'"):
        Hyper(0.1, weight_decay=0.1, regularization_type="L3")


def test_iter_size_is_at_least_one():
    with pytest.raises(InputError, match="iter_size is 0"):
        Hyper(0.1, iter_size=0)
