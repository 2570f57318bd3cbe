import numpy as np
import pytest

from geeps_caffe.errors import LayerError
from tests.layers.checks import check_backward_reads, check_gradient, run_layer, run_net

X = np.array([1.0, 2.0, 3.0, 4.0]).reshape(4, 1, 1, 1)


def layer(text="", top="b", more=""):
    return (
        f'layer {{ name: "l" type: "BatchNorm" bottom: "a" top: "{top}" {more} '
        f"batch_norm_param {{ {text} }} }}"
    )


ZERO = {"l": [[0.0], [0.0], [0.0]]}


def test_training_normalizes_by_the_batch_and_stores_sums():
    net = run_net(layer(), {"a": X}, params=ZERO)
    expected = [-1.34164, -0.447212, 0.447212, 1.34164]
    np.testing.assert_allclose(net.data["b"].ravel(), expected, rtol=1e-5)
    sums = [blob.data.item() for blob in net.params["l"]]
    np.testing.assert_allclose(sums, [2.5, 1.25 * 4 / 3, 1])


def test_stored_sums_decay():
    text = layer("moving_average_fraction: 0.5")
    net = run_net(text, {"a": X}, params={"l": [[1.0], [2.0], [3.0]]})
    sums = [blob.data.item() for blob in net.params["l"]]
    np.testing.assert_allclose(sums, [3.0, 1 + 1.25 * 4 / 3, 2.5])


def test_testing_normalizes_by_the_stored_sums_over_their_factor():
    params = [[2.0], [8.0], [2.0]]
    (y,) = run_layer(layer("eps: 0"), [[3.0]], params=params, phase="TEST")
    np.testing.assert_allclose(y, [[(3 - 1) / 2]])


def test_a_factor_of_0_stands_for_statistics_of_0():
    (y,) = run_layer(layer(), [[3.0]], params=[[1.0], [4.0], [0.0]], phase="TEST")
    np.testing.assert_allclose(y, [[948.683]], rtol=1e-6)


@pytest.mark.parametrize("batch", [4, 1])
def test_testing_may_take_the_statistics_of_the_batch(batch):
    (y,) = run_layer(layer("use_global_stats: false"), X[:batch], phase="TEST")
    expected = [-1.34164, -0.447212, 0.447212, 1.34164] if batch == 4 else [0]
    np.testing.assert_allclose(y.ravel(), expected, rtol=1e-5)


@pytest.mark.parametrize("shape", [(5, 3), (4, 3, 2, 2), (6,), (2, 3, 2, 2, 2)])
@pytest.mark.parametrize("top", ["a", "b"])
@pytest.mark.parametrize("stored", ["true", "false"])
def test_gradient_and_reads(shape, top, stored, rng):
    text = layer(f"use_global_stats: {stored} eps: 0.1", top)
    inputs = {"a": rng.normal(size=shape)}
    check_gradient(text, inputs)
    check_backward_reads(text, inputs)


def test_layers_after_it_may_run_in_place(rng):
    text = layer(top="a") + 'layer { name: "r" type: "ReLU" bottom: "a" top: "a" }'
    check_gradient(text, {"a": rng.normal(size=(4, 3, 2))})


def test_a_learning_rate_is_explained():
    with pytest.raises(LayerError, match="an lr_mult above 0, but statistics are not"):
        run_net(layer(more="param { }"), {"a": X})
    run_net(layer(more="param { lr_mult: 0 }" * 3), {"a": X})


def test_channels_must_stay_when_the_bottom_is_reshaped():
    net = run_net(layer(), {"a": X})
    with pytest.raises(LayerError, match="the statistics are for 1 channels"):
        net.forward(a=np.zeros((1, 2, 3, 3)))
