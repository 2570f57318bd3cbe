import numpy as np
import pytest

from geeps_caffe.errors import LayerError
from tests.layers.checks import check_backward_reads, check_gradient, run_layer, run_net


def layer(text="", tops="xyz"):
    names = " ".join(f'top: "{name}"' for name in tops)
    return (
        f'layer {{ name: "l" type: "Slice" bottom: "a" {names} '
        f"slice_param {{ {text} }} }}"
    )


@pytest.mark.parametrize(
    ("text", "axis", "points"),
    [
        ("", 1, [2, 4]),
        ("axis: 0 slice_point: 1 slice_point: 4", 0, [1, 4]),
        ("axis: -1 slice_point: 1 slice_point: 3", 2, [1, 3]),
        ("slice_dim: 0", 0, [2, 4]),
    ],
)
def test_tops_are_parts_of_the_bottom(text, axis, points, rng):
    x = rng.normal(size=(6, 6, 5))
    expected = np.split(x, points, axis)
    for found, part in zip(run_layer(layer(text), x), expected, strict=True):
        np.testing.assert_array_equal(found, part)
    check_gradient(layer(text), {"a": x})
    check_backward_reads(layer(text), {"a": x})


def test_one_top_is_the_bottom():
    np.testing.assert_array_equal(run_layer(layer(tops="x"), [[1, 2]])[0], [[1, 2]])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("axis: 1 slice_dim: 1", "axis and slice_dim are both given"),
        ("axis: 2", "axis 2 is outside of the bottom's 2 axes"),
        ("", "the 4 of axis 1 can't be cut into 3 equal tops; give slice_point"),
        ("slice_point: 1", "1 numbers of slice_point are given for 3 tops; give 2"),
        ("slice_point: 2 slice_point: 2", r"slice_point \[2, 2\] does not cut the 4"),
        ("slice_point: 2 slice_point: 4", r"points must increase, from 1 to 3"),
        ("slice_point: 0 slice_point: 2", r"slice_point \[0, 2\] does not cut"),
    ],
)
def test_wrong_parameters_are_explained(text, message):
    with pytest.raises(LayerError, match=message):
        run_net(layer(text), {"a": np.zeros((2, 4))})
