import numpy as np
import pytest

from geeps_caffe.device.philox import Stream
from tests.cuda_src.build import run


@pytest.mark.parametrize("shape", [(3, 8), (2, 3, 5), (4, 1), (1, 0)])
def test_bits_are_those_of_the_other_engines(shape):
    """The kernel "random_bits"."""
    seed, layer, iteration = 2**33 + 5, 0xFEDCBA98, 7
    records = np.array([11, 2, 5, 2**31 + 1], np.int64)[: shape[0]]
    words, each = np.empty(shape, np.uint32), int(np.prod(shape[1:]))
    key = (seed & 0xFFFFFFFF, seed >> 32)
    blocks = shape[0] * -(-each // 4)
    run("random_bits.cu", "random_bits", blocks, words, records, each, layer, 7, *key)
    wanted = Stream(seed, layer, iteration, records).bits(shape)
    np.testing.assert_array_equal(words, wanted)
