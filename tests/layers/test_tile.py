import numpy as np
import pytest

from geeps_caffe.errors import LayerError
from tests.layers.checks import check_backward_reads, check_gradient, run_layer, run_net


def layer(text):
    return (
        'layer { name: "l" type: "Tile" bottom: "a" top: "b" '
        f"tile_param {{ {text} }} }}"
    )


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
def test_the_bottom_is_repeated_along_the_axis(axis, rng):
    text, x = layer(f"axis: {axis} tiles: 3"), rng.normal(size=(2, 3, 2))
    times = [1, 1, 1]
    times[axis] = 3
    np.testing.assert_array_equal(run_layer(text, x)[0], np.tile(x, times))
    check_gradient(text, {"a": x})
    check_backward_reads(text, {"a": x})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "tiles is 0; give the number of copies"),
        ("tiles: -1", "tiles is -1"),
        ("tiles: 2 axis: 2", "axis 2 is outside of the bottom's 2 axes"),
    ],
)
def test_wrong_parameters_are_explained(text, message):
    with pytest.raises(LayerError, match=message):
        run_net(layer(text), {"a": np.zeros((2, 3))})
