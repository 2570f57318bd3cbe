import numpy as np
import pytest

from geeps_caffe.errors import LayerError
from tests.layers.checks import run_layer, run_net

TEXT = """layer {{ name: "l" type: "Accuracy" bottom: "a" bottom: "b" {}
           accuracy_param {{ {} }} }}"""
ONE, TWO = 'top: "c"', 'top: "c" top: "d"'
SCORES = [[1.0, 5, 3], [9, 2, 4], [0, 1, 2], [3, 2, 1]]
LABELS = [1.0, 1, 2, 1]


@pytest.mark.parametrize(("param", "share"), [("", 0.5), ("top_k: 2", 0.75)])
def test_a_label_among_the_best_is_a_hit(param, share):
    (y,) = run_layer(TEXT.format(ONE, param), SCORES, LABELS)
    assert (y.shape, y) == ((), share)


def test_the_second_top_has_the_share_of_each_class():
    _, y = run_layer(TEXT.format(TWO, ""), SCORES, LABELS)
    np.testing.assert_allclose(y, [0, 1 / 3, 1])


@pytest.mark.parametrize(("k", "share"), [(1, 0), (5, 0), (10, 1)])
def test_scores_that_are_all_alike_hit_only_if_all_classes_count(k, share):
    text = TEXT.format(TWO, f"top_k: {k}")
    accuracy, classes = run_layer(text, np.zeros((4, 10)), [3.0] * 4)
    assert accuracy == share
    np.testing.assert_array_equal(classes, np.eye(10)[3] * share)


def test_ignored_labels_do_not_count():
    (y,) = run_layer(TEXT.format(ONE, "ignore_label: 1"), SCORES, LABELS)
    assert y == 1


def test_nothing_to_count_is_0():
    text = TEXT.format(TWO, "ignore_label: 255")
    accuracy, classes = run_layer(text, SCORES, [255.0] * 4)
    assert accuracy == 0
    np.testing.assert_array_equal(classes, [0, 0, 0])


def test_labels_may_have_places():
    scores = np.moveaxis(np.reshape(SCORES, (2, 2, 3)), 2, 1)
    labels = np.reshape(LABELS, (2, 2))
    assert run_layer(TEXT.format(ONE, ""), scores, labels)[0] == 0.5
    scores = np.moveaxis(scores, 1, 2)
    assert run_layer(TEXT.format(ONE, "axis: -1"), scores, labels)[0] == 0.5


def test_nan_is_no_hit():
    assert run_layer(TEXT.format(ONE, ""), np.full((2, 3), np.nan), [0.0, 1])[0] == 0


@pytest.mark.parametrize(("param", "number"), [("", 4), ("denominator: 8", 8)])
def test_the_divisor_is_the_count_or_the_forks_denominator(param, number):
    net = run_net(TEXT.format(ONE, param), {"a": SCORES, "b": LABELS})
    assert net.layers[-1].last_normalizer == number
    assert net.data["c"] == 2 / number


@pytest.mark.parametrize(
    ("param", "message"),
    [
        ("top_k: 4", "top_k 4 is more than the 3 classes"),
        ("axis: 2", "axis 2 is outside of the bottom's 2 axes"),
        ("denominator: -1", "denominator -1 must not be negative"),
    ],
)
def test_parameters_that_do_not_fit_are_refused(param, message):
    with pytest.raises(LayerError, match=message):
        run_layer(TEXT.format(ONE, param), SCORES, LABELS)
