"""Parts of a net that Python runs on a GPU, where blobs are changed in place."""

import numpy as np
import pytest

from geeps_caffe import caffe
from tests.cuda_double.fixtures import double

__all__ = ["double"]

NET = """
force_backward: true
layer { name: "in" type: "Input" top: "x" input_param { shape { dim: 2 dim: 3 } } }
layer { name: "ip" type: "InnerProduct" bottom: "x" top: "h"
  inner_product_param { num_output: 4 bias_term: false
    weight_filler { type: "gaussian" std: 1 } } }
layer { name: "relu" type: "ReLU" bottom: "h" top: "h" }
layer { name: "out" type: "Power" bottom: "h" top: "y" power_param { scale: 2 } }
"""


@pytest.fixture
def net(tmp_path, double):
    file = tmp_path / "net.prototxt"
    file.write_text(NET)
    return caffe.Net(str(file), caffe.TEST, engine="cuda")


def near(found, wanted):
    np.testing.assert_allclose(found, wanted, 1e-4, 1e-5)


def test_a_part_begins_and_ends_with_what_the_blob_shows(net, rng):
    x = rng.standard_normal((2, 3)).astype(np.float32)
    w = net.params["ip"][0].data
    held = net.blobs["h"].data
    near(net.forward(x=x)["y"], 2 * (x @ w.T).clip(0))
    near(net.forward(end="ip")["h"], x @ w.T)
    near(held, x @ w.T)
    net.blobs["h"].data[...] = [[-1, 2, -3, 4]] * 2
    near(net.forward(start="relu")["y"], [[0, 4, 0, 8]] * 2)
    for start, slope in (("ip", [1, 1, 1, 1]), ("relu", [0, 1, 0, 1])):
        net.blobs["h"].diff[...] = 3
        near(net.backward(start=start)["x"], (3 * np.array([slope] * 2)) @ w)
