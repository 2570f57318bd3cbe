import numpy as np
import pytest

from geeps_caffe.errors import LayerError
from tests.layers.checks import check_backward_reads, check_gradient, run_layer, run_net

A, B, C = np.array([[1.0, -2.0], [3.0, 5.0], [2.0, 4.0]])


def layer(text="", bottoms="abc"):
    names = " ".join(f'bottom: "{name}"' for name in bottoms)
    return (
        f'layer {{ name: "l" type: "Eltwise" {names} top: "t" '
        f"eltwise_param {{ {text} }} }}"
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", [6, 7]),
        ("coeff: 1 coeff: -1 coeff: 0.5", [-1, -5]),
        ("operation: PROD", [6, -40]),
        ("operation: PROD stable_prod_grad: false", [6, -40]),
        ("operation: MAX", [3, 5]),
    ],
)
def test_values_gradient_and_reads(text, expected):
    np.testing.assert_allclose(run_layer(layer(text), A, B, C)[0], expected)
    check_gradient(layer(text), {"a": A, "b": B, "c": C})
    check_backward_reads(layer(text), {"a": A, "b": B, "c": C})


def gradients(text, **inputs):
    net = run_net(layer(text, "".join(inputs)), inputs)
    net.backward({"t": np.ones_like(net.data["t"])})
    return [net.diff[name].tolist() for name in inputs]


def test_ties_of_max_go_to_the_second_of_the_first_two_and_then_to_the_earlier():
    one, two = np.array([1.0]), np.array([2.0])
    assert gradients("operation: MAX", a=one, b=one) == [[0], [1]]
    assert gradients("operation: MAX", a=two, b=one, c=two) == [[1], [0], [0]]
    assert gradients("operation: MAX", a=one, b=one, c=two) == [[0], [0], [1]]


def test_the_stable_gradient_of_a_product_allows_zeros():
    zero, two = np.array([0.0]), np.array([2.0])
    assert gradients("operation: PROD", a=zero, b=two) == [[2], [0]]
    unstable = gradients("operation: PROD stable_prod_grad: false", a=zero, b=two)
    assert np.isnan(unstable[0][0]) and unstable[1] == [0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("operation: PROD coeff: 1 coeff: 1", "coeff is only for operation: SUM"),
        ("coeff: 1", "1 numbers of coeff are given for 2 bottoms"),
        ("", r"bottom\[1\] 'b' is \(3,\), but bottom\[0\] \(2,\)"),
    ],
)
def test_wrong_parameters_are_explained(text, message):
    with pytest.raises(LayerError, match=message):
        run_net(layer(text, "ab"), {"a": np.zeros(2), "b": np.zeros(3)})
