import numpy as np
import pytest

from geeps_caffe.errors import LayerError
from tests.layers.checks import check_backward_reads, check_gradient, run_layer, run_net


def layer(text=""):
    return (
        'layer { name: "l" type: "Crop" bottom: "a" bottom: "b" top: "t" '
        f"crop_param {{ {text} }} }}"
    )


@pytest.mark.parametrize(
    ("text", "window"),
    [
        ("", np.s_[:, :, 0:2, 0:3]),
        ("offset: 1", np.s_[:, :, 1:3, 1:4]),
        ("offset: 2 offset: 1", np.s_[:, :, 2:4, 1:4]),
        ("axis: -1 offset: 2", np.s_[:, :, :, 2:5]),
        ("axis: 1 offset: 1 offset: 0 offset: 2", np.s_[:, 1:3, 0:2, 2:5]),
        ("axis: 0", np.s_[0:1, 0:2, 0:2, 0:3]),
    ],
)
def test_the_window_has_the_shape_of_the_second_bottom(text, window, rng):
    a, b = rng.normal(size=(2, 3, 4, 5)), np.zeros((1, 2, 2, 3))
    np.testing.assert_array_equal(run_layer(layer(text), a, b)[0], a[window])
    check_gradient(layer(text), {"a": a, "b": b})
    check_backward_reads(layer(text), {"a": a, "b": b})


def test_the_second_bottom_gets_no_gradient(rng):
    a, b = rng.normal(size=(2, 1, 1, 4, 4))[:, :, :, :3]
    net = run_net(layer(), {"a": a, "b": b})
    net.backward({"t": a})
    assert "b" not in net.diff


def test_the_second_bottom_may_hang_on_learned_layers(rng):
    a, b = rng.normal(size=(2, 1, 1, 4, 4))
    power = 'layer { name: "p" type: "Power" bottom: "x" top: "b" } '
    scale = 'layer { name: "s" type: "Scale" bottom: "p" top: "q" } '
    crop = layer().replace('bottom: "b"', 'bottom: "q"')
    text = power.replace('top: "b"', 'top: "p"') + scale + crop
    check_gradient(text, {"a": a, "x": b})


@pytest.mark.parametrize(
    ("text", "b", "message"),
    [
        (
            "offset: 1 offset: 1 offset: 1",
            (1, 1, 2, 2),
            "3 numbers of offset are given",
        ),
        (
            "offset: 3",
            (1, 1, 2, 2),
            "axis 2 has 4, too few for .* 2 at offset 3; reduce",
        ),
        ("", (1, 1, 2, 9), "axis 3 has 4, too few for the second bottom's 9"),
        ("", (2, 2), r"unlike numbers of axes: \(1, 1, 4, 4\) and \(2, 2\)"),
        ("axis: 4", (1, 1, 2, 2), "axis 4 is outside of the bottom's 4 axes"),
    ],
)
def test_wrong_parameters_are_explained(text, b, message):
    with pytest.raises(LayerError, match=message):
        run_net(layer(text), {"a": np.zeros((1, 1, 4, 4)), "b": np.zeros(b)})
