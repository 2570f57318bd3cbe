import math

import pytest

from geeps_caffe.errors import InputError
from geeps_caffe.solvers import current_step, learning_rate
from tests.solvers.settings import solver


@pytest.mark.parametrize(
    ("policy", "fields", "expected"),
    [
        ("fixed", {}, 0.5),
        ("step", {"gamma": 0.1, "stepsize": 4}, 0.5 * 0.1**2),
        ("exp", {"gamma": 0.9}, 0.5 * 0.9**10),
        ("inv", {"gamma": 0.1, "power": 0.75}, 0.5 * 2**-0.75),
        ("multistep", {"gamma": 0.1, "stepvalue": [3, 10, 11]}, 0.5 * 0.1**2),
        ("poly", {"power": 2.0, "max_iter": 40}, 0.5 * 0.75**2),
        ("sigmoid", {"gamma": -0.5, "stepsize": 8}, 0.5 / (1 + math.exp(1))),
    ],
)
def test_a_policy_follows_its_formula(policy, fields, expected):
    message = solver(lr_policy=policy, base_lr=0.5, **fields)
    assert learning_rate(message, 10) == pytest.approx(expected, rel=1e-6)


def test_poly_ends_at_zero():
    message = solver(lr_policy="poly", base_lr=0.5, power=1.5, max_iter=10)
    assert learning_rate(message, 10) == 0


def test_poly_beyond_its_end_is_refused_rather_than_not_a_number():
    message = solver(lr_policy="poly", base_lr=0.5, power=1.5, max_iter=10)
    with pytest.raises(InputError, match="no finite rate at iteration 11"):
        learning_rate(message, 11)


def test_an_overflowing_rate_is_refused():
    with pytest.raises(InputError, match="no finite rate"):
        learning_rate(solver(lr_policy="exp", base_lr=1.0, gamma=10.0), 1000)


def test_step_and_multistep_count_steps():
    step = solver(lr_policy="step", stepsize=3)
    assert [current_step(step, i) for i in (2, 3, 6)] == [0, 1, 2]
    multistep = solver(lr_policy="multistep", stepvalue=[2, 5])
    assert [current_step(multistep, i) for i in (1, 2, 4, 5, 99)] == [0, 1, 1, 2, 2]
    assert current_step(solver(), 99) == 0


def test_an_unknown_policy_names_its_neighbour():
    with pytest.raises(InputError, match="'stepp'; did you mean 'step'"):
        learning_rate(solver(lr_policy="stepp"), 0)


def test_a_step_needs_a_size():
    with pytest.raises(InputError, match="stepsize above 0"):
        learning_rate(solver(lr_policy="step"), 0)
