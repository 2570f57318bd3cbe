import numpy as np
import pytest

from geeps_caffe.errors import LayerError
from tests.layers.checks import check_backward_reads, check_gradient, run_layer, run_net

CASES = {
    "plain": ("kernel_size: 2", (2, 2, 3, 4)),
    "strided": ("kernel_size: 3 stride: 2 pad: 1 dilation: 2", (1, 2, 6, 7)),
    "1-d": ("kernel_size: 3", (2, 2, 5)),
    "3-d": ("kernel_size: 2 pad: 1", (1, 2, 2, 3, 2)),
    "two batch axes": ("kernel_size: 2 axis: 2", (2, 2, 2, 3, 3)),
}


def layer(text):
    return (
        'layer { name: "l" type: "Im2col" bottom: "a" top: "b" '
        f"convolution_param {{ {text} }} }}"
    )


def test_channels_are_the_pixels_of_the_window():
    x = np.arange(6).reshape(1, 1, 2, 3)
    (y,) = run_layer(layer("kernel_size: 2"), x)
    np.testing.assert_array_equal(y[0, :, 0], [[0, 1], [1, 2], [3, 4], [4, 5]])


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_gradient_and_reads(case, rng):
    text, inputs = layer(case[0]), {"a": rng.normal(size=case[1])}
    check_gradient(text, inputs)
    check_backward_reads(text, inputs)


def test_a_kernel_larger_than_the_bottom_is_explained():
    with pytest.raises(LayerError, match="covers 4 pixels of spatial axis 0"):
        run_net(layer("kernel_size: 4"), {"a": np.zeros((1, 1, 3, 3))})
