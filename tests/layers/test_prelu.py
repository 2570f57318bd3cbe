import numpy as np
import pytest

from geeps_caffe.errors import LayerError
from tests.layers.checks import check_backward_reads, check_gradient, run_layer, run_net

TEXT = 'layer {{ name: "l" type: "PReLU" bottom: "a" top: "{}" prelu_param {{ {} }} }}'


@pytest.fixture(params=["b", "a"], ids=["apart", "in place"])
def top(request):
    return request.param


@pytest.fixture(params=["", "channel_shared: true"], ids=["channel", "shared"])
def text(request, top):
    return TEXT.format(top, request.param)


def test_negative_values_are_scaled_by_their_channel_s_slope(top):
    x = [[[-1.0, 2.0], [-3.0, -4.0]]]
    (y,) = run_layer(TEXT.format(top, ""), x, params=[[0.5, 2.0]])
    np.testing.assert_array_equal(y, [[[-0.5, 2], [-6, -8]]])


def test_a_shared_slope_is_one_number(top):
    x = [[-1.0, -2.0, 3.0]]
    text = TEXT.format(top, "channel_shared: true")
    (y,) = run_layer(text, x, params=[0.5])
    np.testing.assert_array_equal(y, [[-0.5, -1, 3]])


def test_gradient_is_that_of_differences(text, rng):
    x = rng.normal(size=(2, 3, 4))
    x[abs(x) < 0.01] = 0.5
    check_gradient(text, {"a": x})


def test_backward_reads_what_it_declares(text, rng):
    check_backward_reads(text, {"a": rng.normal(size=(2, 3))})


@pytest.mark.parametrize(
    ("param", "value"), [("", 0.25), ("filler { value: 0.1 }", np.float32(0.1))]
)
def test_the_slope_starts_at_a_quarter_or_as_the_filler_says(param, value):
    net = run_net(TEXT.format("b", param), {"a": np.zeros((1, 3))})
    (spec,) = net.layers[-1].param_specs([(1, 3)])
    assert spec.shape == (3,)
    assert (spec.filler.type, spec.filler.value) == ("constant", value)


def test_a_bottom_without_channels_is_refused():
    with pytest.raises(LayerError, match=r"shape .3,.; expected 2 axes or more"):
        run_layer(TEXT.format("b", ""), [1.0, 2.0, 3.0])
