import numpy as np
import pytest

from tests.cuda_src.arrays import floats
from tests.cuda_src.build import run, run_tail


@pytest.mark.parametrize(
    ("total", "size"), [(700, 700), (700, 300), (5, 8), (512, 256)]
)
def test_squares_are_added_up_part_by_part_in_double_precision(rng, total, size):
    x, n = floats(rng, total), -(-total // size)
    x[::3] *= 1000  # which the other squares are lost beside in single precision
    parts = np.empty(n)
    run("squares.cu", "sum_of_squares", n, x, parts, size, total)
    wanted = [(x[i : i + size].astype(float) ** 2).sum() for i in range(0, total, size)]
    np.testing.assert_allclose(parts, wanted, 1e-15)


def test_parts_beyond_2_to_the_31():
    size, n = 2**16, 2**15 + 1
    x, parts = np.zeros(size * n - 5, np.float32), np.zeros(n)
    x[-1] = 3
    run_tail("squares.cu", "sum_of_squares", n, x, parts, size, x.size)
    assert parts[-1] == 9
