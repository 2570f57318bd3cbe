import numpy as np
import pytest

from tests.cuda_src.build import run


@pytest.mark.parametrize(("top_k", "wanted"), [(1, [1, 0, 0, 0]), (2, [1, 1, 0, 0])])
def test_hits(top_k, wanted):
    """Best; second of three; equal to two others; ignored."""
    scores = np.array([[3, 1, 2], [1, 2, 3], [5, 5, 5], [9, 1, 1]], np.float32)
    labels = np.array([0, 1, 2, 7], np.float32)
    hit, counted = np.empty((2, 4), np.float32)
    args = (scores, labels, hit, counted, 3, 1, top_k, 1, 7)
    run("accuracy.cu", "accuracy", 4, *args)
    np.testing.assert_array_equal(hit, wanted)
    np.testing.assert_array_equal(counted, [1, 1, 1, 0])
