import pytest

from geeps_caffe.engines.operations import LRNWithin
from tests.cuda_src.arrays import close, define, floats, like
from tests.cuda_src.build import run

FILE = "lrn_within.cu"


@pytest.mark.parametrize("shape", [(2, 3, 6, 7), (1, 2, 1, 9), (3, 1, 2, 2)])
@pytest.mark.parametrize("size", [1, 3, 5, 9])
def test_both_passes(shape, size, rng):
    operation = LRNWithin(size, 0.5, 0.75)
    x, dy = floats(rng, *shape), floats(rng, *shape)
    y, dx, scale, alone = like(x), like(x), like(x), like(x)
    place, ratio = (size, *shape[2:]), operation.alpha / size**2
    numbers = (*place, ratio, operation.beta)
    run(FILE, "lrn_within_forward", x.size, x, scale, y, *numbers)
    run(FILE, "lrn_within_test", x.size, x, alone, *numbers)
    factor = 2 * ratio * operation.beta
    args = (x, dy, scale, dx, *place, factor, operation.beta)
    run(FILE, "lrn_within_backward", x.size, *args)
    ports = {"bottom0": x, "top0": y, "saved0": scale}
    wanted = define(operation, "forward", ports)
    close(y, wanted["top0"])
    close(alone, wanted["top0"])
    close(scale, wanted["saved0"])
    ports |= {"top0.diff": dy, "bottom0.diff": dx}
    close(dx, define(operation, "backward", ports)["bottom0.diff"], 1e-5)
