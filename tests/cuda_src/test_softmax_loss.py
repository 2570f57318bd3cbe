import numpy as np
import pytest

from geeps_caffe.engines.reference.functions import ArrayFunctions
from tests.cuda_src.arrays import close, like
from tests.cuda_src.build import run

FILE = "softmax_loss.cu"
WEIGHTS = (0.5, 2.0, 1.0, 3.0, 0.25)


def costs(p, labels, rest, weights=None, each=4):
    """What the kernel "label_losses" sums up."""
    weights, outer = (weights if weights is not None else p), labels.size
    sums = np.full((-(-outer // each), 4), np.nan, np.float32)
    args = (p, labels, weights, sums, outer, each, *p.shape[1:], *rest)
    run(FILE, "label_losses", len(sums), *args)
    return sums.sum(axis=0)


@pytest.mark.parametrize("weights", [(), WEIGHTS])
@pytest.mark.parametrize("ignored", [None, 2])
def test_cost_and_slope(ignored, weights, rng):
    p = rng.dirichlet(np.ones(5), (3, 7)).astype(np.float32).swapaxes(1, 2).copy()
    labels = rng.integers(0, 5, (3, 7)).astype(np.float32)
    labels[0, 0] = 2
    given, rest = np.array(weights or [0], np.float32), (ignored is not None,)
    rest = (bool(weights), *rest, ignored or 0)
    wide, plain = p.astype(float), ArrayFunctions()
    wanted = plain.label_losses(wide, labels, ignored, weights)
    total, counted, wrong, low = costs(p, labels, rest, given)
    close(total, wanted.total)
    assert (counted, wrong, low) == (wanted.counted, 0, 0)
    dx, diff, out = like(p), np.full((), 3, np.float32), np.empty_like(wide)
    args = (p, labels, given, diff, dx, 5, 7, *rest, 4)
    run(FILE, "label_slopes", p.size, *args)
    plain.label_slopes(wide, labels, ignored, weights, diff, 4, out)
    close(dx, out)


def test_a_probability_of_zero_costs_what_it_costs_in_caffe():
    p, label = np.array([[[0], [1]]], np.float32), np.zeros(1, np.float32)
    total, counted, wrong, low = costs(p, label, (0, 0, 0))
    close(total, 87.3365)
    assert (counted, wrong, low) == (1, 0, 1)


@pytest.mark.parametrize("label", [-1, 2, np.nan, 1e30, -np.inf])
def test_labels_that_name_no_class_are_counted_and_not_followed(label):
    p = np.full((1, 2, 2), 0.5, np.float32)
    labels = np.array([[label, 1]], np.float32)
    assert costs(p, labels, (0, 0, 0))[1:3].tolist() == [2, 1]
