import numpy as np
import pytest

from geeps_caffe.engines.reference.functions import ArrayFunctions
from tests.cuda_src.arrays import close, floats, like
from tests.cuda_src.build import run

FILE = "logistic_loss.cu"


@pytest.mark.parametrize("ignored", [None, 1])
def test_cost_and_slope(ignored, rng):
    x, t = 30 * floats(rng, 200), rng.integers(0, 2, 200).astype(np.float32)
    sums, dx = np.full((3, 2), np.nan, np.float32), like(x)
    rest = (ignored is not None, ignored or 0)
    run(FILE, "logistic_losses", 3, x, t, sums, 200, 80, *rest)
    wide, plain, out = x.astype(float), ArrayFunctions(), np.empty(200)
    total, counted = plain.logistic_losses(wide, t, ignored)
    close(sums[:, 0].sum(), total)
    assert sums[:, 1].sum() == counted
    diff = np.full((), 2, np.float32)
    run(FILE, "logistic_slopes", 200, x, t, diff, dx, *rest, 8)
    plain.logistic_slopes(wide, t, ignored, diff, 8, out)
    close(dx, out)
