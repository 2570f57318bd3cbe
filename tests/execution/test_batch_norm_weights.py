import numpy as np
import pytest

import prototxt
from geeps_caffe.caffe import TEST, Net
from geeps_caffe.errors import InputError
from geeps_caffe.execution.weights import copy_weights

NET = """
layer { name: "x" type: "Input" top: "x" input_param { shape { dim: 1 dim: 1 } } }
layer { name: "norm" type: "BatchNorm" bottom: "x" top: "y" }
"""


@pytest.fixture
def make(tmp_path):
    """A net, and a weights file whose BatchNorm layer has the given blobs."""

    def build(*blobs):
        message = prototxt.NetParameter()
        layer = message.layer.add(name="norm", type="BatchNorm")
        for values in blobs:
            blob = layer.blobs.add()
            blob.shape.dim.append(len(values))
            blob.data.extend(values)
        weights = tmp_path / "n.caffemodel"
        weights.write_bytes(message.SerializeToString())
        (tmp_path / "net.prototxt").write_text(NET)
        return Net(str(tmp_path / "net.prototxt"), TEST), str(weights)

    return build


def test_statistics_behind_a_factor_of_0_count_as_0_and_are_warned_of(make, caplog):
    net, weights = make([1], [4], [0])
    net.copy_from(weights)
    found = net.forward(x=np.full((1, 1), 3))["y"]
    np.testing.assert_allclose(found, [[948.683]], rtol=1e-6)
    assert "'norm' (BatchNorm)" in caplog.text
    assert "factor is 0" in caplog.text


def test_plain_statistics_are_read_as_they_are_on_demand(make, caplog):
    net, weights = make([1], [4], [0])
    net.copy_from(weights, plain_statistics=True)
    found = net.forward(x=np.full((1, 1), 3))["y"]
    np.testing.assert_allclose(found, [[0.999999]], rtol=1e-6)
    assert not caplog.text


def test_caffes_own_statistics_are_read_without_a_word(make, caplog):
    net, weights = make([2], [8], [2])
    for plain in (False, True):
        net.copy_from(weights, plain_statistics=plain)
        found = net.forward(x=np.full((1, 1), 3))["y"]
        np.testing.assert_allclose(found, [[0.999999]], rtol=1e-6)
    assert not caplog.text


@pytest.mark.parametrize("last", [2, 4])
def test_five_blobs_are_refused_as_nvcaffes_with_their_roles(make, last):
    net, weights = make([1] * 2, [1] * 2, [0.5] * (3 - last // 2), [4] * 2, [0])
    with pytest.raises(InputError, match=r"NVCaffe.*scale_bias.*is the mean"):
        net.copy_from(weights)


@pytest.mark.parametrize("plain", [False, True])
def test_statistics_that_are_another_nets_stay_without_a_word(make, caplog, plain):
    net, weights = make([1], [4], [0])
    for blob in net.params["norm"]:
        blob.data[...] = 5
    copy_weights(net._net, weights, {f"norm/{i}" for i in range(3)}, plain)
    assert [blob.data.item() for blob in net.params["norm"]] == [5, 5, 5]
    assert not caplog.text
