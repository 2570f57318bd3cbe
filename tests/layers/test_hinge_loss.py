import numpy as np
import pytest

from tests.layers.checks import check_backward_reads, check_gradient, run_layer

TEXT = """layer {{ name: "l" type: "HingeLoss" bottom: "a" bottom: "b" top: "c"
           hinge_loss_param {{ norm: {} }} }}"""
SCORES = [[2.0, -0.5, -3.0], [0.5, 0.25, 1.0]]
# label 0: max(0, 1 - 2), 1 - 0.5, max(0, 1 - 3); label 1: 1.5, 1 - 0.25, 2


@pytest.mark.parametrize(
    ("norm", "loss"),
    [("L1", (0.5 + 4.25) / 2), ("L2", (0.25 + 2.25 + 0.5625 + 4) / 2)],
)
def test_loss_is_what_lacks_of_a_margin_of_1(norm, loss):
    (y,) = run_layer(TEXT.format(norm), SCORES, [0.0, 1.0])
    assert y == loss


@pytest.mark.parametrize("norm", ["L1", "L2"])
def test_gradient_is_that_of_differences(norm, rng):
    labels = rng.integers(0, 6, size=4) * 1.0
    inputs = {"a": rng.normal(size=(4, 2, 3)), "b": labels}
    check_gradient(TEXT.format(norm), inputs)


@pytest.mark.parametrize("norm", ["L1", "L2"])
def test_backward_reads_what_it_declares(norm):
    inputs = {"a": np.array(SCORES), "b": np.array([0.0, 1.0])}
    check_backward_reads(TEXT.format(norm), inputs)
