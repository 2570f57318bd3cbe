import numpy as np

from tests.cuda_src.arrays import close, floats
from tests.cuda_src.build import run

INDEX = np.array([7, 0, 7, 8, 7, 0], np.int64)


def test_rows_are_gathered(rng):
    table, rows = floats(rng, 9, 5), np.empty((6, 5), np.float32)
    run("rows.cu", "gather_rows", 30, table, INDEX, rows, 5)
    np.testing.assert_array_equal(rows, table[INDEX])


def test_rows_with_one_number_are_added_up(rng):
    rows, table = floats(rng, 6, 5), floats(rng, 9, 5)
    wanted, found = np.zeros((9, 5)), table.copy()
    np.add.at(wanted, INDEX, rows)
    order = np.argsort(INDEX, kind="stable")
    run("rows.cu", "scatter_add_rows", 30, rows, INDEX, order, found, 6, 5)
    close(found[[0, 7, 8]], wanted[[0, 7, 8]])
    rest = [1, 2, 3, 4, 5, 6]
    np.testing.assert_array_equal(found[rest], table[rest])


def test_nothing_is_read_behind_the_last_index(rng):
    """There the order goes on, with another row that has the last one's number."""
    index, order = np.append(INDEX, 8), np.argsort(INDEX, kind="stable")
    rows, found = floats(rng, 7, 5), np.zeros((9, 5), np.float32)
    run(
        "rows.cu", "scatter_add_rows", 30, rows, index, np.append(order, 6), found, 6, 5
    )
    np.testing.assert_array_equal(found[8], rows[3])
