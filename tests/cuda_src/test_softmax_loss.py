import numpy as np
import pytest

from tests.cuda_src.arrays import close, like
from tests.cuda_src.build import run


@pytest.mark.parametrize("ignored", [None, 2])
def test_cost_and_slope(ignored, rng):
    p = rng.dirichlet(np.ones(5), (3, 4)).astype(np.float32).swapaxes(1, 2).copy()
    labels = rng.integers(0, 5, (3, 4)).astype(np.float32)
    labels[0, 0] = 2
    cost, counted, dx = like(labels), like(labels), like(p)
    rest = (5, 4, ignored is not None, ignored or 0)
    run("softmax_loss.cu", "softmax_loss_forward", 12, p, labels, cost, counted, *rest)
    run("softmax_loss.cu", "softmax_loss_backward", 60, p, labels, dx, *rest, 0.25)
    counts = labels != ignored
    one = labels[:, None, :] == np.arange(5)[:, None]
    own = (p * one).sum(axis=1)
    close(cost, np.where(counts, -np.log(own.astype(float)), 0))
    np.testing.assert_array_equal(counted, counts)
    close(dx, 0.25 * (p - one) * counts[:, None, :])


def test_a_probability_of_zero_costs_what_it_costs_in_caffe():
    p, label = np.array([0, 1], np.float32), np.zeros(1, np.float32)
    cost, counted = np.empty(1, np.float32), np.empty(1, np.float32)
    args = (p, label, cost, counted, 2, 1, 0, 0)
    run("softmax_loss.cu", "softmax_loss_forward", 1, *args)
    close(cost, [87.3365])
