import numpy as np
import pytest

from geeps_caffe.engines.operations import MaxPooling
from tests.cuda_src.arrays import close, define, floats, like
from tests.cuda_src.build import run
from tests.cuda_src.windows import UNDILATED, outs, table


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("case", UNDILATED, ids=str)
def test_both_passes(case, ties, rng):
    x = floats(rng, 2, 3, *case[4])
    x = np.round(x) if ties else x
    y, dy = (floats(rng, 2, 3, *outs(*case)) for _ in range(2))
    winner, dx = np.empty(y.shape, np.int32), like(x)
    windows = table(*case, outs(*case))
    run("max_pooling.cu", "max_pooling_forward", y.size, x, y, winner, windows)
    run("max_pooling.cu", "max_pooling_backward", x.size, dy, winner, dx, windows)
    ports = {"bottom0": x, "top0": y, "saved0": winner}
    operation = MaxPooling(*case[:3])
    wanted = define(operation, "forward", ports)
    np.testing.assert_array_equal(y, wanted["top0"])
    np.testing.assert_array_equal(winner, wanted["saved0"])
    ports |= {"top0.diff": dy, "bottom0.diff": dx}
    close(dx, define(operation, "backward", ports)["bottom0.diff"])


def test_a_window_without_a_number_has_the_least_and_no_winner():
    x = np.full((1, 1, 2), np.nan, np.float32)
    y, winner = np.empty(1, np.float32), np.empty(1, np.int32)
    windows = table((2,), (1,), (0,), (1,), (2,), (1,))
    run("max_pooling.cu", "max_pooling_forward", 1, x, y, winner, windows)
    assert (y[0], winner[0]) == (np.finfo(np.float32).min, -1)


def test_winners_are_shown_as_floats():
    winner, index = np.array([3, -1, 7], np.int32), np.empty(3, np.float32)
    run("max_pooling.cu", "winners_as_floats", 3, winner, index)
    np.testing.assert_array_equal(index, [3, -1, 7])
