import numpy as np
import pytest

from geeps_caffe.engines.operations import Softmax
from tests.cuda_src.arrays import close, define, floats, like
from tests.cuda_src.build import run


def check(forward, backward, shape, items, extents, rng):
    x, dy = 20 * floats(rng, *shape), floats(rng, *shape)
    y, dx = like(x), like(x)
    run("softmax.cu", forward, items, x, y, *extents)
    run("softmax.cu", backward, items, y, dy, dx, *extents)
    ports = {"bottom0": x, "top0": y, "top0.diff": dy, "bottom0.diff": dx}
    close(y, define(Softmax(1), "forward", ports)["top0"])
    close(dx, define(Softmax(1), "backward", ports)["bottom0.diff"])


@pytest.mark.parametrize("classes", [1, 10, 257, 1000])
def test_rows(classes, rng):
    names = ("softmax_forward_rows", "softmax_backward_rows")
    check(*names, (5, classes), 5, (classes,), rng)


@pytest.mark.parametrize("shape", [(2, 21, 5), (3, 4, 1)])
def test_columns(shape, rng):
    items = shape[0] * shape[2]
    check("softmax_forward", "softmax_backward", shape, items, shape[1:], rng)


def test_large_scores_do_not_overflow():
    x = np.array([[1e4, 0, 1e4]], np.float32)
    run("softmax.cu", "softmax_forward_rows", 1, x, x, 3)
    np.testing.assert_array_equal(x, [[0.5, 0, 0.5]])
