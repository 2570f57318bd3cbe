import numpy as np
import pytest

from tests.layers.checks import check_backward_reads, check_gradient, run_layer, run_net

TEXT = 'layer {{ name: "l" type: "MVN" bottom: "a" top: "{}" mvn_param {{ {} }} }}'
PARAMS = [
    "",
    "across_channels: true",
    "normalize_variance: false",
    "normalize_variance: false across_channels: true",
]


@pytest.fixture(params=["b", "a"], ids=["apart", "in place"])
def top(request):
    return request.param


def test_each_channel_has_mean_0_and_deviation_1(top):
    (y,) = run_layer(TEXT.format(top, "eps: 0"), [[[[1.0, 3.0]], [[10.0, 50.0]]]])
    np.testing.assert_allclose(y, [[[[-1, 1]], [[-1, 1]]]])


def test_eps_is_added_to_the_deviation(top):
    (y,) = run_layer(TEXT.format(top, "eps: 1"), [[[[1.0, 3.0]], [[10.0, 50.0]]]])
    np.testing.assert_allclose(y, [[[[-0.5, 0.5]], [[-20 / 21, 20 / 21]]]])


def test_channels_may_share_their_mean(top):
    text = TEXT.format(top, "across_channels: true normalize_variance: false")
    (y,) = run_layer(text, [[[[1.0, 3.0]], [[5.0, 7.0]]]])
    np.testing.assert_allclose(y, [[[[-3, -1]], [[1, 3]]]])


@pytest.mark.parametrize("param", PARAMS)
def test_gradient_is_that_of_differences(top, param, rng):
    check_gradient(TEXT.format(top, param), {"a": rng.normal(size=(2, 3, 2, 2))})


def test_the_gradient_does_not_know_eps(rng):
    x = rng.normal(size=(1, 1, 4, 1))
    net = run_net(TEXT.format("b", "eps: 0.5"), {"a": x})
    dy, y = rng.normal(size=x.shape), net.data["b"]
    net.backward({"b": dy})
    expected = (dy - dy.mean() - y * (dy * y).mean()) / (x.std() + 0.5)
    np.testing.assert_allclose(net.diff["a"], expected)


@pytest.mark.parametrize("param", PARAMS)
def test_backward_reads_what_it_declares(top, param, rng):
    check_backward_reads(TEXT.format(top, param), {"a": rng.normal(size=(2, 3, 4))})


@pytest.mark.parametrize(
    ("shape", "expected"), [((2, 3), (2, 3, 1, 1)), ((2,), (2, 1, 1, 1))]
)
def test_the_top_has_four_axes_as_caffes(shape, expected):
    text = TEXT.format("b", "across_channels: true")
    (y,) = run_layer(text, np.ones(shape))
    assert y.shape == expected
