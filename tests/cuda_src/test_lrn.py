import numpy as np
import pytest

from geeps_caffe.engines.operations import LRN
from tests.cuda_src.arrays import close, define, floats, like
from tests.cuda_src.build import run


@pytest.mark.parametrize("shape", [(2, 7, 3, 4), (2, 3, 5), (3, 16, 2)])
@pytest.mark.parametrize("size", [1, 3, 5, 9])
def test_both_passes(shape, size, rng):
    operation = LRN(size, 0.5, 0.75, 2.0)
    x, dy = floats(rng, *shape), floats(rng, *shape)
    y, dx, scale, alone = like(x), like(x), like(x), like(x)
    place = (size, shape[1], int(np.prod(shape[2:])))
    numbers = (operation.alpha / size, operation.k, operation.beta)
    run("lrn.cu", "lrn_forward", x.size, x, scale, y, *place, *numbers)
    run("lrn.cu", "lrn_test", x.size, x, alone, *place, *numbers)
    factor = 2 * operation.alpha * operation.beta / size
    args = (x, dy, scale, dx, *place, factor, operation.beta)
    run("lrn.cu", "lrn_backward", x.size, *args)
    ports = {"bottom0": x, "top0": y, "saved0": scale}
    wanted = define(operation, "forward", ports)
    close(y, wanted["top0"])
    close(alone, wanted["top0"])
    close(scale, wanted["saved0"])
    ports |= {"top0.diff": dy, "bottom0.diff": dx}
    close(dx, define(operation, "backward", ports)["bottom0.diff"], 1e-5)
