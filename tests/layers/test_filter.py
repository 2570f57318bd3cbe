import numpy as np
import pytest

from geeps_caffe.errors import LayerError
from tests.layers.checks import check_backward_reads, check_gradient, run_layer, run_net

TEXT = """layer { name: "l" type: "Filter" bottom: "a" bottom: "b" bottom: "c"
          top: "d" top: "e" }"""


def _inputs(selector, rng):
    a, b = rng.normal(size=(len(selector), 3)), rng.normal(size=len(selector))
    return {"a": a, "b": b, "c": np.array(selector, float)}


def test_selected_items_stay_in_their_order():
    x, y = run_layer(TEXT, [[1.0, 2], [3, 4], [5, 6]], [7.0, 8, 9], [0.0, 1, -1])
    np.testing.assert_array_equal(x, [[3, 4], [5, 6]])
    np.testing.assert_array_equal(y, [8, 9])


def test_nothing_may_be_selected(rng):
    net = run_net(TEXT, _inputs([0, 0], rng))
    assert (net.data["d"].shape, net.data["e"].shape) == ((0, 3), (0,))
    net.backward()
    np.testing.assert_array_equal(net.diff["a"], np.zeros((2, 3)))


def test_gradient_is_that_of_differences(rng):
    inputs = _inputs([1, 0, 1, 0], rng)
    net = check_gradient(TEXT, inputs)
    assert "c" not in net.diff


def test_backward_reads_what_it_declares(rng):
    check_backward_reads(TEXT, _inputs([1, 0, 1], rng))


@pytest.mark.parametrize(
    ("selector", "message"),
    [
        (np.zeros((2, 2)), "the selector, bottom.2., has shape .2, 2.; expected .N,."),
        (np.zeros(3), r"bottom.0. has shape .2, 3., the selector .3,.; their first"),
    ],
)
def test_selectors_that_do_not_fit_are_refused(selector, message, rng):
    inputs = _inputs([1, 1], rng) | {"c": selector}
    with pytest.raises(LayerError, match=message):
        run_net(TEXT, inputs)


def test_a_top_for_each_bottom_but_the_selector():
    text = """layer { name: "l" type: "Filter" bottom: "a" bottom: "b"
              top: "c" top: "d" }"""
    with pytest.raises(LayerError, match="2 tops for 1 bottoms besides the selector"):
        run_net(text, {"a": np.zeros(2), "b": np.zeros(2)})
