import numpy as np

from tests.cuda_src.arrays import floats
from tests.cuda_src.build import run


def test_a_window_of_four_axes(rng):
    whole, window = floats(rng, 3, 5, 6, 7), (1, slice(2, 4), slice(0, 6), slice(3, 7))
    part = np.empty((1, 2, 6, 4), np.float32)
    strides = [s // 4 for s in whole.strides]
    geometry = np.array(list(zip(part.shape, strides, strict=True)), np.int64)
    offset = int(np.dot(strides, [1, 2, 0, 3]))
    args = (geometry, 4, offset)
    run("crop.cu", "crop_forward", part.size, whole, part, *args)
    np.testing.assert_array_equal(part[0], whole[window])
    back = np.zeros_like(whole)
    run("crop.cu", "crop_backward", part.size, part, back, *args)
    np.testing.assert_array_equal(back[window], part[0])
    assert np.count_nonzero(back) == part.size
