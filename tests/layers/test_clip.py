import numpy as np
import pytest

from tests.layers.checks import (
    check_backward_reads,
    check_gradient,
    run_layer,
    run_net,
)

TEXT = """layer {{ name: "l" type: "Clip" bottom: "a" top: "{}"
           clip_param {{ min: -1 max: 2 }} }}"""


@pytest.mark.parametrize("top", ["a", "b"])
def test_values_are_limited(top):
    (y,) = run_layer(TEXT.format(top), [-3.0, -1.0, 0.5, 2.0, 5.0])
    np.testing.assert_array_equal(y, [-1, -1, 0.5, 2, 2])


def test_gradient_is_that_of_differences():
    check_gradient(TEXT.format("b"), {"a": [-3.0, 0.5, 1.5, 4.0]})


def test_the_gradient_passes_at_the_bounds():
    net = run_net(TEXT.format("b"), {"a": [-1.0, 2.0]})
    net.backward({"b": [3, 4]})
    np.testing.assert_array_equal(net.diff["a"], [3, 4])


def test_in_place_the_whole_gradient_passes_as_in_caffe():
    net = run_net(TEXT.format("a"), {"a": [-3.0, 0.5, 4.0]})
    net.backward({"a": [1, 2, 3]})
    np.testing.assert_array_equal(net.diff["a"], [1, 2, 3])


@pytest.mark.parametrize("top", ["a", "b"])
def test_backward_reads_what_it_declares(top, rng):
    check_backward_reads(TEXT.format(top), {"a": 3 * rng.normal(size=(2, 3))})
