import numpy as np
import pytest

from geeps_caffe.errors import LayerError
from tests.layers.checks import check_backward_reads, check_gradient, run_net

CASES = {
    "plain": ("num_output: 3 kernel_size: 3", (2, 2, 3, 4)),
    "stride": ("num_output: 2 kernel_size: 4 stride: 2 pad: 1", (2, 3, 3, 2)),
    "gaps": ("num_output: 2 kernel_size: 1 stride: 2", (1, 2, 3, 3)),
    "1-d": ("num_output: 2 kernel_size: 3 stride: 2", (2, 2, 4)),
    "3-d": ("num_output: 2 kernel_size: 2 pad: 1", (1, 2, 3, 3, 2)),
    "group": ("num_output: 4 kernel_size: 2 group: 2", (1, 2, 3, 3)),
    "dilation": ("num_output: 2 kernel_size: 2 dilation: 2", (1, 2, 3, 3)),
    "two batch axes": ("num_output: 2 kernel_size: 2 axis: 2", (2, 2, 2, 3, 3)),
}


def layer(text):
    return (
        'layer { name: "l" type: "Deconvolution" bottom: "a" top: "b" '
        f"convolution_param {{ {text} }} }}"
    )


@pytest.fixture(params=CASES.values(), ids=CASES)
def case(request, rng):
    text, shape = request.param
    return layer(text), {"a": rng.normal(size=shape)}


def test_it_is_the_transpose_of_the_convolution_with_its_weights(case, rng):
    """<y, deconvolution of x> = <convolution of y, x> for all x and y."""
    text, inputs = case
    net = run_net(text, inputs)
    w, bias = (blob.data for blob in net.params["l"])
    x, y = inputs["a"], rng.normal(size=net.data["b"].shape)
    back = text.replace("Deconvolution", "Convolution")
    back = back.replace(f"num_output: {len(bias)}", f"num_output: {len(w)}")
    other = run_net(back, {"a": y}, params={"l": [w, np.zeros(len(w))]})
    unbiased = net.data["b"] - bias.reshape((-1,) + (1,) * (w.ndim - 2))
    assert (unbiased * y).sum() == pytest.approx((other.data["b"] * x).sum())


def test_gradient_is_that_of_differences(case):
    check_gradient(*case)


def test_backward_reads_what_it_declares(case):
    check_backward_reads(*case)


def test_the_bias_is_one_number_for_each_output():
    net = run_net(layer("num_output: 3 kernel_size: 2"), {"a": np.zeros((1, 2, 2, 2))})
    assert net.params["l"][0].shape == (2, 3, 2, 2)
    bias = net.params["l"][1].data
    np.testing.assert_allclose(net.data["b"][0, :, 0, 0], bias)


def test_wrong_parameters_are_explained():
    with pytest.raises(LayerError, match=r"\(Deconvolution\): group 2 does not divide"):
        run_net(
            layer("num_output: 3 kernel_size: 2 group: 2"),
            {"a": np.zeros((1, 2, 2, 2))},
        )
