import numpy as np
import pytest

from geeps_caffe.device.philox import Stream
from tests.cuda_src.arrays import floats, like
from tests.cuda_src.build import run


@pytest.mark.parametrize("shape", [(3, 8), (2, 3, 5), (4, 1)])
def test_masks_are_those_of_the_other_engines(shape, rng):
    seed, layer, iteration = 2**33 + 5, 0xFEDCBA98, 7
    records = np.array([11, 2, 5, 2**31 + 1], np.int64)[: shape[0]]
    bits = Stream(seed, layer, iteration, records).bits(shape)
    x, y, kept = floats(rng, *shape), like(floats(rng, *shape)), np.empty(shape, bool)
    each, dropped = int(np.prod(shape[1:])), int(0.4 * 2**32)
    words = (layer, iteration, seed & 0xFFFFFFFF, seed >> 32, dropped)
    blocks = shape[0] * -(-each // 4)
    args = (x, y, kept, records, each, *words, 1 / 0.6)
    run("dropout.cu", "dropout_forward", blocks, *args)
    np.testing.assert_array_equal(kept, bits >= dropped)
    np.testing.assert_array_equal(y, x * kept * np.float32(1 / 0.6))
    dx = like(x)
    run("dropout.cu", "dropout_backward", x.size, kept, x, dx, 1 / 0.6)
    np.testing.assert_array_equal(dx, y)
