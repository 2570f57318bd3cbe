import pytest

from geeps_caffe.engines.operations import AveragePooling
from tests.cuda_src.arrays import close, define, floats, like
from tests.cuda_src.build import run
from tests.cuda_src.windows import UNDILATED, outs, table


@pytest.mark.parametrize("case", UNDILATED, ids=str)
def test_both_passes(case, rng):
    x = floats(rng, 2, 3, *case[4])
    dy = floats(rng, 2, 3, *outs(*case))
    y, dx, windows = like(dy), like(x), table(*case, outs(*case))
    run("average_pooling.cu", "average_pooling_forward", y.size, x, y, windows)
    run("average_pooling.cu", "average_pooling_backward", x.size, dy, dx, windows)
    ports = {"bottom0": x, "top0": y, "top0.diff": dy, "bottom0.diff": dx}
    operation = AveragePooling(*case[:3])
    close(y, define(operation, "forward", ports)["top0"])
    close(dx, define(operation, "backward", ports)["bottom0.diff"])


def test_the_divisor_counts_padding_but_nothing_beyond_it(rng):
    """An image of 2 with padding 1: windows of 3 from -1 and from 1, the latter cut."""
    x, y = floats(rng, 2), floats(rng, 2)
    windows = table((3,), (2,), (1,), (1,), (2,), (2,))
    run("average_pooling.cu", "average_pooling_forward", 2, x, y, windows)
    close(y, [(x[0] + x[1]) / 3, x[1] / 2])
