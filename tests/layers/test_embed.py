import numpy as np
import pytest

from geeps_caffe.errors import LayerError
from tests.layers.checks import check_backward_reads, check_gradient, run_layer, run_net


def layer(text="num_output: 2 input_dim: 3"):
    return (
        'layer { name: "l" type: "Embed" bottom: "a" top: "b" '
        f"embed_param {{ {text} }} }}"
    )


def test_each_number_becomes_its_row_plus_the_bias():
    params = [[[0, 1], [10, 11], [20, 21]], [100, 200]]
    (y,) = run_layer(layer(), [[2, 0]], params=params)
    np.testing.assert_array_equal(y, [[[120, 221], [100, 201]]])


@pytest.mark.parametrize("bias", ["true", "false"])
def test_gradient_and_reads(bias):
    text = layer(f"num_output: 2 input_dim: 4 bias_term: {bias}")
    inputs = {"a": np.array([[0, 2], [2, 3], [2, 0]])}  # 1 is never asked for
    net = check_gradient(text, inputs)
    assert set(net.diff) == {"b"}  # row numbers have no gradient
    check_backward_reads(text, inputs)


@pytest.mark.parametrize("value", [-1, 3, 0.5, np.nan])
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_a_number_without_a_row_is_explained(value):
    message = "bottom 'a' has .* at place 2; expected a whole number from 0 to .* 2$"
    with pytest.raises(LayerError, match=message):
        run_net(layer(), {"a": np.array([0, 1, value])})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("num_output: 2", "input_dim is 0 or missing"),
        ("input_dim: 2", "num_output is 0 or missing"),
    ],
)
def test_missing_sizes_are_explained(text, message):
    with pytest.raises(LayerError, match=message):
        run_net(layer(text), {"a": np.zeros(2)})
