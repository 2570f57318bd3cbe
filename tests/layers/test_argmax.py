import numpy as np
import pytest

from geeps_caffe.errors import LayerError
from tests.layers.checks import run_layer

TEXT = 'layer {{ name: "l" type: "ArgMax" bottom: "a" top: "b" argmax_param {{ {} }} }}'
X = [[3.0, 1.0, 7.0, 5.0], [9.0, 2.0, 2.0, 9.0]]


@pytest.mark.parametrize(
    ("param", "expected"),
    [
        ("", [[[2]], [[3]]]),
        ("top_k: 3", [[[2, 3, 0]], [[3, 0, 2]]]),
        ("top_k: 2 out_max_val: true", [[[2, 3], [7, 5]], [[3, 0], [9, 9]]]),
        ("axis: 1 top_k: 2", [[2, 3], [3, 0]]),
        ("axis: 0", [[1, 1, 0, 1]]),
        ("axis: -1 top_k: 2 out_max_val: true", [[7, 5], [9, 9]]),
    ],
)
def test_the_largest_come_first_and_the_last_of_equals(param, expected):
    (y,) = run_layer(TEXT.format(param), X)
    np.testing.assert_array_equal(y, expected)


def test_without_axis_all_but_the_first_count():
    x = np.zeros((2, 3, 2, 2))
    x[0, 1, 1, 0], x[1, 2, 1, 1] = 5, 5
    (y,) = run_layer(TEXT.format(""), x)
    np.testing.assert_array_equal(y, np.reshape([6, 11], (2, 1, 1, 1)))


@pytest.mark.parametrize(
    ("param", "most"), [("top_k: 5", 4), ("top_k: 3 axis: 0", 2), ("top_k: 0", 4)]
)
def test_more_than_there_are_is_refused(param, most):
    with pytest.raises(LayerError, match=f"top_k . must be from 1 to {most}"):
        run_layer(TEXT.format(param), X)
