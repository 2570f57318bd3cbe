import numpy as np
import pytest

from geeps_caffe.errors import LayerError
from tests.layers.checks import check_backward_reads, check_gradient, run_layer, run_net

TEXT = 'layer {{ name: "l" type: "Scale" {} top: "{}" scale_param {{ {} }} }}'
ONE, TWO = 'bottom: "a"', 'bottom: "a" bottom: "b"'
PARAMS = [
    ("", (3,)),
    ("bias_term: true", (3,)),
    ("axis: 0 num_axes: 2 bias_term: true", (2, 3)),
    ("axis: -1", (4,)),
    ("num_axes: -1", (3, 4)),
    ("num_axes: 0 bias_term: true", ()),
]


@pytest.fixture(params=["c", "a"], ids=["apart", "in place"])
def top(request):
    return request.param


def test_channels_are_scaled_and_shifted(top):
    text = TEXT.format(ONE, top, "bias_term: true")
    (y,) = run_layer(text, [[1.0, 2.0], [3.0, 4.0]], params=[[2, 10], [0.5, -1]])
    np.testing.assert_array_equal(y, [[2.5, 19], [6.5, 39]])


def test_the_scale_may_be_a_bottom(top):
    text = TEXT.format(TWO, top, "axis: 0")
    (y,) = run_layer(text, [[1.0, 2.0], [3.0, 4.0]], [2.0, 10.0])
    np.testing.assert_array_equal(y, [[2, 4], [30, 40]])


@pytest.mark.parametrize(("param", "shape"), PARAMS)
def test_the_axes_give_the_shape_of_the_blobs(param, shape):
    net = run_net(TEXT.format(ONE, "c", param), {"a": np.zeros((2, 3, 4))})
    assert {blob.shape for blob in net.params["l"]} == {shape}


@pytest.mark.parametrize(("param", "shape"), PARAMS)
def test_gradients_are_those_of_differences(top, param, shape, rng):
    x = rng.normal(size=(2, 3, 4))
    check_gradient(TEXT.format(ONE, top, param), {"a": x})
    shape = (2, 3) if shape == (2, 3) else shape
    check_gradient(TEXT.format(TWO, top, param), {"a": x, "b": rng.normal(size=shape)})


@pytest.mark.parametrize("param", ["", "bias_term: true"])
def test_backward_reads_what_it_declares(top, param, rng):
    x, scale = rng.normal(size=(2, 3, 4)), rng.normal(size=3)
    check_backward_reads(TEXT.format(ONE, top, param), {"a": x})
    check_backward_reads(TEXT.format(TWO, top, param), {"a": x, "b": scale})


def test_the_scale_starts_at_1_and_the_bias_at_0():
    net = run_net(TEXT.format(ONE, "c", "bias_term: true"), {"a": np.zeros((2, 3))})
    scale, bias = net.layers[-1].param_specs([(2, 3)])
    assert (scale.filler.type, scale.filler.value) == ("constant", 1)
    assert (bias.filler.type, bias.filler.value) == ("constant", 0)


@pytest.mark.parametrize(
    ("bottoms", "param", "message"),
    [
        (ONE, "axis: 3", "axis 3 is outside of the bottom's 3 axes"),
        (ONE, "num_axes: 3", "axis 1 and num_axes 3 go beyond bottom.0. of shape"),
        (ONE, "num_axes: -2", "num_axes -2 must be -1 or more"),
        (ONE, 'filler { type: "xaver" }', "scale: unknown filler 'xaver'; did"),
        (TWO, "", "bottom.1. of shape .4,. does not fit .* from axis 1 on"),
    ],
)
def test_axes_that_do_not_fit_are_refused(bottoms, param, message):
    inputs = [np.zeros((2, 3, 4)), np.zeros(4)][: bottoms.count("bottom")]
    with pytest.raises(LayerError, match=message):
        run_layer(TEXT.format(bottoms, "c", param), *inputs)
