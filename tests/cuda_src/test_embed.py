import numpy as np

from tests.cuda_src.arrays import close, floats
from tests.cuda_src.build import run


def test_rows_are_looked_up_and_their_gradients_added(rng):
    index = np.array([2, 0, 2, 4, 2], np.float32)
    weights, dy = floats(rng, 6, 3), floats(rng, 5, 3)
    y, dw = np.empty((5, 3), np.float32), np.zeros((6, 3), np.float32)
    run("embed.cu", "embed_forward", 15, index, weights, y, 3)
    np.testing.assert_array_equal(y, weights[index.astype(int)])
    run("embed.cu", "embed_backward", 15, index, dy, dw, 5, 3)
    wanted = np.zeros((6, 3))
    np.add.at(wanted, index.astype(int), dy)
    close(dw, wanted)
