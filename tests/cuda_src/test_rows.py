import numpy as np

from tests.cuda_src.arrays import floats, like
from tests.cuda_src.build import run


def test_rows_are_gathered_and_scattered(rng):
    table, index = floats(rng, 9, 5), np.array([7, 0, 3, 8], np.int64)
    rows, before = floats(rng, 4, 5), table.copy()
    out = like(rows)
    run("rows.cu", "gather_rows", 20, table, index, out, 5)
    np.testing.assert_array_equal(out, table[index])
    run("rows.cu", "scatter_add_rows", 20, rows, index, table, 5, 0.5)
    before[index] += np.float32(0.5) * rows
    np.testing.assert_array_equal(table, before)
    run("rows.cu", "scatter_rows", 20, rows, index, table, 5)
    before[index] = rows
    np.testing.assert_array_equal(table, before)
