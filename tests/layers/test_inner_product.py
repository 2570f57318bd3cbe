import numpy as np
import pytest

from geeps_caffe.errors import LayerError
from tests.layers.checks import check_backward_reads, check_gradient, run_layer, run_net

CASES = {
    "plain": "num_output: 3",
    "transposed": "num_output: 3 transpose: true",
    "no bias": "num_output: 3 bias_term: false",
    "axis 0": "num_output: 2 axis: 0",
    "last axis": "num_output: 2 axis: -1 transpose: true",
}


def layer(text):
    return (
        'layer { name: "l" type: "InnerProduct" bottom: "a" top: "b" '
        f"inner_product_param {{ {text} }} }}"
    )


def test_each_output_is_the_product_with_a_row_plus_its_bias():
    params = [[[1, 2, 3], [0, 1, 0]], [10, 20]]
    (y,) = run_layer(layer("num_output: 2"), [[1, 1, 1], [1, 0, 2]], params=params)
    np.testing.assert_array_equal(y, [[16, 21], [17, 20]])


def test_a_transposed_weight_has_its_outputs_in_columns():
    params = [[[1, 0], [2, 1], [3, 0]], [0, 0]]
    text = layer("num_output: 2 transpose: true")
    (y,) = run_layer(text, [[1, 1, 1]], params=params)
    np.testing.assert_array_equal(y, [[6, 1]])


@pytest.mark.parametrize("text", CASES.values(), ids=CASES)
def test_gradient_and_reads(text, rng):
    inputs = {"a": rng.normal(size=(2, 3, 4))}
    check_gradient(layer(text), inputs)
    check_backward_reads(layer(text), inputs)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "num_output is 0 or missing"),
        ("num_output: 2 axis: 3", "axis 3 is outside of the bottom's 3 axes"),
        ('num_output: 2 weight_filler { type: "no" }', "unknown filler 'no'"),
    ],
)
def test_wrong_parameters_are_explained(text, message):
    with pytest.raises(LayerError, match=message):
        run_net(layer(text), {"a": np.zeros((2, 3, 4))})


def test_the_length_of_the_vectors_must_stay():
    net = run_net(layer("num_output: 2"), {"a": np.zeros((2, 3, 4))})
    net.forward(a=np.zeros((5, 4, 3)))
    with pytest.raises(LayerError, match=r"has 15 values from axis 1 on, .* for 12"):
        net.forward(a=np.zeros((2, 3, 5)))
