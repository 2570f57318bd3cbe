import numpy as np

from tests.cuda_src.arrays import close, floats, like
from tests.cuda_src.build import run


def test_copies_and_their_sum(rng):
    x, y = floats(rng, 3, 1, 4), np.empty((3, 5, 4), np.float32)
    run("tile.cu", "tile_forward", y.size, x, y, 5, 4)
    np.testing.assert_array_equal(y, np.repeat(x, 5, axis=1))
    dy, dx = floats(rng, 3, 5, 4), like(x)
    run("tile.cu", "tile_backward", x.size, dy, dx, 5, 4)
    close(dx, dy.sum(axis=1, keepdims=True))
