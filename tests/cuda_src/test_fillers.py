import numpy as np

from geeps_caffe.device.philox import Stream
from tests.cuda_src.arrays import close
from tests.cuda_src.build import run


def test_constant():
    y = np.empty(1000, np.float32)
    run("fillers.cu", "fill_constant", 1000, y, 0.1)
    np.testing.assert_array_equal(y, np.full(1000, np.float32(0.1)))


def test_uniform_numbers_are_those_of_philox():
    y = np.full(1003, np.nan, np.float32)
    bits = Stream(9, 4, 2, np.zeros(1, np.int64)).bits((1, 1000))[0]
    run("fillers.cu", "fill_uniform", 250, y, 1000, -1, 3, 4, 2, 9, 0)
    close(y[:1000], -1 + 4 * (bits >> 8) * 2.0**-24)
    assert np.isnan(y[1000:]).all()
    assert (y[:1000] >= -1).all() and (y[:1000] < 3).all()
