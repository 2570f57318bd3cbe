import numpy as np
import pytest

from tests.cuda_src.arrays import close, floats, like
from tests.cuda_src.build import run

FILE = "broadcast.cu"


@pytest.mark.parametrize("shape", [(3, 4, 5), (1, 7, 1), (300, 2, 1)])
def test_factors_and_biases(shape, rng):
    x, y = floats(rng, *shape), like(floats(rng, *shape))
    factor, bias = floats(rng, shape[1]), floats(rng, shape[1])
    f, b = factor[None, :, None], bias[None, :, None]
    run(FILE, "bias_forward", x.size, x, bias, y, *shape[1:])
    np.testing.assert_array_equal(y, x + b)
    run(FILE, "scale_forward", x.size, x, factor, y, *shape[1:])
    np.testing.assert_array_equal(y, x * f)
    run(FILE, "scale_bias_forward", x.size, x, factor, bias, y, *shape[1:])
    np.testing.assert_array_equal(y, x * f + b)
    outer, middle, inner = shape
    total = like(bias)
    run(FILE, "sum_over", middle, x, total, outer, inner)
    close(total, x.astype(float).sum(axis=(0, 2)))
    run(FILE, "sum_products_over", middle, x, y, total, outer, inner)
    close(total, (x.astype(float) * y).sum(axis=(0, 2)))
