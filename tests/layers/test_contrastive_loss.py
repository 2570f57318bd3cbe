import numpy as np
import pytest

from geeps_caffe.errors import LayerError
from tests.layers.checks import check_backward_reads, check_gradient, run_layer, run_net

TEXT = """layer {{ name: "l" type: "ContrastiveLoss" bottom: "a" bottom: "b" bottom: "c"
           top: "d" contrastive_loss_param {{ margin: 6 {} }} }}"""
A, B = np.array([[3.0, 4.0], [1, 1], [9, 0]]), np.array([[0.0, 0.0], [1, 3], [0, 0]])


@pytest.mark.parametrize(
    ("param", "others"), [("", [1, 0]), ("legacy_version: true", [0, 0])]
)
def test_similar_pairs_cost_their_distance_others_what_lacks(param, others):
    (y,) = run_layer(TEXT.format(param), A, B, [0.0, 1, 0])
    np.testing.assert_allclose(y, (4 + sum(others)) / 3 / 2)


def test_the_old_margin_is_on_squared_distances():
    text = TEXT.format("legacy_version: true")
    (y,) = run_layer(text, [[1.0, 1.0]], [[0.0, 0.0]], [0.0])
    np.testing.assert_allclose(y, (6 - 2) / 2)


@pytest.mark.parametrize("param", ["", "legacy_version: true"])
def test_gradient_is_that_of_differences(param, rng):
    inputs = {"a": 2 * rng.normal(size=(6, 3)), "b": 2 * rng.normal(size=(6, 3))}
    inputs["c"] = np.array([0.0, 1, 0, 1, 0, 0])
    # Caffe's 1e-4 beside the distance makes the slope a little too flat
    check_gradient(TEXT.format(param), inputs, rtol=1e-3)


def test_equal_features_that_should_differ_get_a_finite_gradient():
    net = run_net(TEXT.format(""), {"a": A[:1], "b": A[:1], "c": [0.0]})
    net.backward()
    np.testing.assert_array_equal(net.diff["a"], [[0, 0]])


def test_backward_reads_what_it_declares():
    check_backward_reads(TEXT.format(""), {"a": A, "b": B, "c": [0.0, 1, 0]})


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        (((2, 3, 2), (2, 3), (2,)), "bottom.0. has shape .* expected .N, C. or"),
        (((2, 3), (2, 4), (2,)), "do not go together"),
        (((2, 3), (2, 3), (2, 2)), "bottom.2. .* expected one number for a pair"),
        (((2, 3), (2, 3), (3,)), "do not go together"),
    ],
)
def test_shapes_that_do_not_fit_are_refused(shapes, message):
    with pytest.raises(LayerError, match=message):
        run_layer(TEXT.format(""), *(np.zeros(shape) for shape in shapes))
