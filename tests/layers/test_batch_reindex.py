import numpy as np
import pytest

from geeps_caffe.errors import LayerError
from tests.layers.checks import check_backward_reads, check_gradient, run_layer

TEXT = 'layer { name: "l" type: "BatchReindex" bottom: "a" bottom: "b" top: "c" }'


def test_items_are_picked_repeated_and_left_out():
    (y,) = run_layer(TEXT, [[1.0, 2], [3, 4], [5, 6]], [2.0, 0, 2, 2])
    np.testing.assert_array_equal(y, [[5, 6], [1, 2], [5, 6], [5, 6]])


def test_gradient_is_that_of_differences(rng):
    check_gradient(TEXT, {"a": rng.normal(size=(4, 2, 3)), "b": [3.0, 0, 3]})


def test_backward_reads_what_it_declares(rng):
    check_backward_reads(TEXT, {"a": rng.normal(size=(4, 2)), "b": [3.0, 0, 3]})


@pytest.mark.parametrize("index", [-1.0, 3.0])
def test_an_index_out_of_range_is_refused(index):
    match = f"index {index:.0f} at position 1 of bottom.1. .* allowed are 0 to 2"
    with pytest.raises(LayerError, match=match):
        run_layer(TEXT, np.zeros((3, 2)), [0.0, index])


def test_indices_are_a_list():
    with pytest.raises(LayerError, match=r"the indices, has shape .2, 1.; expected"):
        run_layer(TEXT, np.zeros((3, 2)), np.zeros((2, 1)))
