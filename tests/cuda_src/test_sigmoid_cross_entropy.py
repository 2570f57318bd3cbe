import numpy as np
import pytest

from tests.cuda_src.arrays import close, floats, like
from tests.cuda_src.build import run

FILE = "sigmoid_cross_entropy.cu"


@pytest.mark.parametrize("ignored", [None, 1])
def test_cost_and_slope(ignored, rng):
    x, t = 30 * floats(rng, 200), rng.integers(0, 2, 200).astype(np.float32)
    cost, counted, dx = like(x), like(x), like(x)
    rest = (ignored is not None, ignored or 0)
    run(FILE, "sigmoid_cross_entropy_forward", 200, x, t, cost, counted, *rest)
    run(FILE, "sigmoid_cross_entropy_backward", 200, x, t, dx, *rest, 0.5)
    counts, wide = t != ignored, x.astype(float)
    costs = np.maximum(wide, 0) - wide * t + np.log1p(np.exp(-abs(wide)))
    close(cost, np.where(counts, costs, 0))
    np.testing.assert_array_equal(counted, counts)
    close(dx, 0.5 * np.where(counts, 1 / (1 + np.exp(-wide)) - t, 0))
