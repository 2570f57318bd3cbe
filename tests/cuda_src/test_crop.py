import numpy as np

from tests.cuda_src.arrays import floats, like
from tests.cuda_src.build import run


def test_a_window_of_four_axes(rng):
    whole, window = floats(rng, 3, 5, 6, 7), np.s_[1:2, 2:4, 0:6, 3:7]
    part = np.empty((1, 2, 6, 4), np.float32)
    rows = zip(part.shape, whole.shape, (1, 2, 0, 3), strict=True)
    geometry = np.array(list(rows), np.int64)
    run("crop.cu", "crop_forward", part.size, whole, part, geometry, 4)
    np.testing.assert_array_equal(part, whole[window])
    back, wanted = like(whole), np.zeros_like(whole)
    run("crop.cu", "crop_backward", whole.size, part, back, geometry, 4)
    wanted[window] = part
    np.testing.assert_array_equal(back, wanted)
