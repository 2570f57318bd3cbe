import numpy as np
import pytest

from geeps_caffe.engines.operations import Activation
from tests.cuda_src.arrays import close, define, floats, like
from tests.cuda_src.build import run

KINDS = [("relu", 0.0), ("relu", 0.1), ("elu", 0.7), ("sigmoid", 0), ("tanh", 0)]
FORWARD = {k: f"{k}_forward" for k in ("relu", "elu", "sigmoid", "tanh")}
# "relu_forward" "elu_forward" "sigmoid_forward" "tanh_forward"
# "relu_backward" "elu_backward" "sigmoid_backward" "tanh_backward"


def extra(kind, alpha):
    return (alpha,) if kind in ("relu", "elu") else ()


@pytest.mark.parametrize(("kind", "alpha"), KINDS)
def test_both_passes(kind, alpha, rng):
    x, dy = floats(rng, 1000), floats(rng, 1000)
    y, dx = like(x), like(x)
    run("activation.cu", FORWARD[kind], x.size, x, y, *extra(kind, alpha))
    ports = {"bottom0": x, "top0": y, "top0.diff": dy, "bottom0.diff": dx}
    operation = Activation(kind, alpha)
    close(y, define(operation, "forward", ports)["top0"])
    run("activation.cu", f"{kind}_backward", x.size, y, dy, dx, *extra(kind, alpha))
    close(dx, define(operation, "backward", ports)["bottom0.diff"])


@pytest.mark.parametrize("kind", ["relu", "elu"])
def test_a_negative_alpha_needs_the_signs(kind, rng):
    x, dy = floats(rng, 300), floats(rng, 300)
    y, dx, sign = like(x), like(x), np.empty(300, np.uint8)
    run("activation.cu", "positive", x.size, x, sign)
    np.testing.assert_array_equal(sign, x > 0)
    run("activation.cu", FORWARD[kind], x.size, x, y, -0.3)
    first = (y,) if kind == "elu" else ()
    backward = {"relu": "relu_backward_saved", "elu": "elu_backward_saved"}[kind]
    run("activation.cu", backward, x.size, sign, *first, dy, dx, -0.3)
    ports = {"top0": y, "saved0": sign, "top0.diff": dy, "bottom0.diff": dx}
    close(dx, define(Activation(kind, -0.3), "backward", ports)["bottom0.diff"])


def test_relu_keeps_nan_and_makes_no_negative_zero():
    x = np.array([np.nan, -np.inf, -1, 2], np.float32)
    run("activation.cu", "relu_forward", 4, x, x, 0.0)
    np.testing.assert_array_equal(x, [np.nan, 0, 0, 2])
    assert not np.signbit(x[1:3]).any()
