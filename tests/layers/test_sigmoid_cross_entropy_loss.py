import numpy as np
import pytest

from geeps_caffe.errors import LayerError
from tests.layers.checks import (
    check_backward_reads,
    check_gradient,
    run_layer,
    run_net,
)

TEXT = """layer {{ name: "l" type: "SigmoidCrossEntropyLoss" bottom: "a" bottom: "b"
           top: "c" loss_param {{ {} }} }}"""
TARGETS = np.array([[0.0, 1, 1], [0, 0, 1]])


@pytest.mark.parametrize(
    ("param", "loss"),
    [
        ("", 2.07944),
        ("normalization: VALID", 0.693147),
        ("normalization: FULL", 0.693147),
        ("normalization: NONE", 4.15888),
        ("normalize: true", 0.693147),
        ("ignore_label: 1", 3 * np.log(2) / 2),
        ("ignore_label: 1 normalization: VALID", np.log(2)),
    ],
)
def test_scores_of_0_cost_log_2_each(param, loss):
    (y,) = run_layer(TEXT.format(param), np.zeros((2, 3)), TARGETS)
    np.testing.assert_allclose(y, loss, rtol=1e-5)


def test_large_scores_do_not_overflow():
    (y,) = run_layer(TEXT.format(""), [[1000.0, -1000.0]], [[0.0, 0.0]])
    assert y == 1000


@pytest.mark.parametrize("param", ["", "ignore_label: 1", "normalization: NONE"])
def test_gradient_is_that_of_differences(param, rng):
    check_gradient(TEXT.format(param), {"a": rng.normal(size=(2, 3)), "b": TARGETS})


def test_backward_reads_what_it_declares(rng):
    check_backward_reads(TEXT.format(""), {"a": rng.normal(size=(2, 3)), "b": TARGETS})


def test_all_ignored_costs_nothing():
    param = "ignore_label: 7 normalization: VALID"
    net = run_net(TEXT.format(param), {"a": np.ones((2, 3)), "b": np.full((2, 3), 7.0)})
    net.backward()
    assert net.data["c"] == 0
    np.testing.assert_array_equal(net.diff["a"], np.zeros((2, 3)))


def test_each_score_needs_a_target():
    with pytest.raises(LayerError, match="scores and targets must be as many"):
        run_layer(TEXT.format(""), np.zeros((2, 3)), np.zeros((2, 4)))
