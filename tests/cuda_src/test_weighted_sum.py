import numpy as np

from tests.cuda_src.arrays import floats, like
from tests.cuda_src.build import run

FILE, A, B = "weighted_sum.cu", np.float32(0.3), np.float32(-2)


def test_sums(rng):
    x, y = floats(rng, 700), floats(rng, 700)
    z = like(x)
    run(FILE, "scaled_pair", 700, x, y, z, A, B)
    np.testing.assert_array_equal(z, A * x + B * y)
    run(FILE, "scaled_copy", 700, x, z, A)
    np.testing.assert_array_equal(z, A * x)
    run(FILE, "scaled_add", 700, y, z, B)
    np.testing.assert_array_equal(z, A * x + B * y)


def test_numbers_that_are_not_normal_are_zeros():
    """As CuPy compiles; the host's own arithmetic is as before."""
    x = np.full(4, 1e-39, np.float32)
    z = like(x)
    run(FILE, "scaled_copy", 4, x, z, np.float32(1))
    assert not z.any() and (x * np.float32(1)).all()
