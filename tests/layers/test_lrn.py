import numpy as np
import pytest

from geeps_caffe.errors import LayerError
from tests.layers.checks import check_backward_reads, check_gradient, run_layer, run_net

CASES = [
    "",
    "local_size: 3 alpha: 0.5 beta: 0.6 k: 2",
    "local_size: 1",
    "local_size: 9",
    "norm_region: WITHIN_CHANNEL local_size: 3 alpha: 2",
    "norm_region: WITHIN_CHANNEL local_size: 1 beta: 0.5",
    "norm_region: WITHIN_CHANNEL local_size: 7",
]


def layer(text=""):
    return (
        f'layer {{ name: "l" type: "LRN" bottom: "a" top: "b" lrn_param {{ {text} }} }}'
    )


def test_across_channels_neighbours_are_channels(rng):
    x = rng.normal(size=(1, 4, 1, 1))
    (y,) = run_layer(layer("local_size: 3 alpha: 0.5 beta: 0.6 k: 2"), x)
    a, b, c, d = x.ravel()
    sums = np.array(
        [a * a + b * b, a * a + b * b + c * c, b * b + c * c + d * d, c * c + d * d]
    )
    np.testing.assert_allclose(y.ravel(), x.ravel() / (2 + 0.5 / 3 * sums) ** 0.6)


def test_within_a_channel_neighbours_are_pixels_and_k_is_1(rng):
    x = rng.normal(size=(1, 1, 2, 2))
    text = "norm_region: WITHIN_CHANNEL local_size: 3 alpha: 2 beta: 0.5 k: 7"
    (y,) = run_layer(layer(text), x)
    np.testing.assert_allclose(y, x / (1 + 2 * (x**2).sum() / 9) ** 0.5)


@pytest.mark.parametrize("text", CASES)
def test_gradient_and_reads(text, rng):
    inputs = {"a": rng.normal(size=(2, 5, 3, 4))}
    check_gradient(layer(text), inputs)
    check_backward_reads(layer(text), inputs)


def test_an_even_size_is_explained():
    with pytest.raises(LayerError, match="local_size is 4; it must be odd"):
        run_net(layer("local_size: 4"), {"a": np.zeros((1, 2, 3, 3))})


def test_a_bottom_without_four_axes_is_explained():
    with pytest.raises(LayerError, match=r"the bottom is \(2, 3\); expected 4 axes"):
        run_net(layer(), {"a": np.zeros((2, 3))})
