import numpy as np
import pytest

from geeps_caffe.engines.reference.windows import Windows, fold, pad, view
from tests.cuda_src.arrays import close, floats, like
from tests.cuda_src.build import run
from tests.cuda_src.windows import CASES, counts, outs, table


@pytest.mark.parametrize("case", CASES, ids=str)
def test_columns_and_back(case, rng):
    _, places, windows = counts(case)
    x = floats(rng, 2, 3, *case[4])
    columns = np.full((2, 3, places, windows), np.nan, np.float32)
    layout = table(*case, outs(*case))
    run("im2col.cu", "im2col", 2 * 3 * windows, x, columns, layout)
    reference = Windows(*case, outs(*case))
    laid = view(np, reference, pad(np, reference, x))
    np.testing.assert_array_equal(columns, laid.reshape(columns.shape))
    dx = like(x)
    columns = floats(rng, *columns.shape)
    run("im2col.cu", "col2im", x.size, columns, dx, layout)
    shape = (2, 3, *case[0], *outs(*case))
    close(dx, fold(np, reference, columns.reshape(shape).astype(np.float64)))
