import numpy as np
import pytest

from geeps_caffe.errors import LayerError
from tests.layers.checks import check_backward_reads, check_gradient, run_layer, run_net


def layer(text="", top="b"):
    return (
        f'layer {{ name: "l" type: "Softmax" bottom: "a" top: "{top}" '
        f"softmax_param {{ {text} }} }}"
    )


def test_values_are_shares_of_the_exponentials():
    (y,) = run_layer(layer(), np.log([[1.0, 2.0, 5.0]]))
    np.testing.assert_allclose(y, [[0.125, 0.25, 0.625]])


def test_large_values_do_not_overflow():
    (y,) = run_layer(layer(), [[1e4, 1e4], [0, 1e4]])
    np.testing.assert_allclose(y, [[0.5, 0.5], [0, 1]])


@pytest.mark.parametrize("top", ["a", "b"])
@pytest.mark.parametrize("axis", [0, 1, 2, -1])
def test_gradient_and_reads(axis, top, rng):
    text, inputs = layer(f"axis: {axis}", top), {"a": rng.normal(size=(2, 3, 4))}
    check_gradient(text, inputs)
    check_backward_reads(text, inputs)


def test_an_axis_out_of_range_is_explained():
    with pytest.raises(LayerError, match="axis 2 is outside of the bottom's 2 axes"):
        run_net(layer("axis: 2"), {"a": np.zeros((2, 3))})
