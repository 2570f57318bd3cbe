import numpy as np
import pytest

from geeps_caffe.errors import LayerError
from tests.layers.checks import check_backward_reads, check_gradient, run_layer, run_net


def layer(text="", bottoms="abc"):
    names = " ".join(f'bottom: "{name}"' for name in bottoms)
    return (
        f'layer {{ name: "l" type: "Concat" {names} top: "t" '
        f"concat_param {{ {text} }} }}"
    )


def inputs(rng, axis):
    shapes = [[2, 3, 4], [2, 3, 4], [2, 3, 4]]
    for i, shape in enumerate(shapes):
        shape[axis] = i + 1
    return {name: rng.normal(size=s) for name, s in zip("abc", shapes, strict=True)}


@pytest.mark.parametrize(
    ("text", "axis"), [("", 1), ("axis: 0", 0), ("axis: -1", 2), ("concat_dim: 2", 2)]
)
def test_bottoms_follow_one_another_along_the_axis(text, axis, rng):
    bottoms = inputs(rng, axis)
    (y,) = run_layer(layer(text), *bottoms.values())
    np.testing.assert_array_equal(y, np.concatenate([*bottoms.values()], axis))
    check_gradient(layer(text), bottoms)
    check_backward_reads(layer(text), bottoms)


def test_one_bottom_is_passed_on():
    np.testing.assert_array_equal(run_layer(layer(bottoms="a"), [[1, 2]])[0], [[1, 2]])


def test_some_bottoms_may_have_no_gradient(rng):
    text = layer().replace('top: "t"', 'top: "t" propagate_down: [false, true, false]')
    net = run_net(text, inputs(rng, 1))
    net.message.force_backward = False
    dy = rng.normal(size=(2, 6, 4))
    net.backward({"t": dy})
    assert net.diff.keys() == {"t", "b"}
    np.testing.assert_array_equal(net.diff["b"], dy[:, 1:3])


@pytest.mark.parametrize(
    ("text", "b", "message"),
    [
        ("", (2, 3, 5), r"bottom\[1\] 'b' is \(2, 3, 5\) and bottom\[0\] \(2, 3, 4\)"),
        ("", (2, 3), r"bottom\[1\] 'b' is \(2, 3\)"),
        ("axis: 2 concat_dim: 2", (2, 3, 4), "axis and concat_dim are both given"),
        ("axis: 3", (2, 3, 4), "axis 3 is outside of the bottom's 3 axes"),
        ("concat_dim: 7", (2, 3, 4), "concat_dim 7 is outside"),
    ],
)
def test_wrong_parameters_are_explained(text, b, message):
    with pytest.raises(LayerError, match=message):
        run_net(layer(text, "ab"), {"a": np.zeros((2, 3, 4)), "b": np.zeros(b)})
