import numpy as np

from tests.cuda_src.arrays import floats
from tests.cuda_src.build import run


def test_parts_of_rows_are_copied(rng):
    source, target = floats(rng, 4, 6), np.zeros((4, 9), np.float32)
    start = target.reshape(-1)[5:]
    run("concat.cu", "copy_rows", 4 * 3, source.reshape(-1)[2:], 6, start, 9, 3)
    np.testing.assert_array_equal(target[:, 5:8], source[:, 2:5])
    assert not target[:, :5].any() and not target[:, 8].any()
