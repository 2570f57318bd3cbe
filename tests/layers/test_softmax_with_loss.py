import logging

import numpy as np
import pytest

from geeps_caffe.errors import LayerError
from tests.layers.checks import (
    check_backward_reads,
    check_gradient,
    run_layer,
    run_net,
)

TEXT = """layer {{ name: "l" type: "SoftmaxWithLoss" bottom: "a" bottom: "b" top: "c"
           {} }}"""
SCORES = np.log([[1.0, 2, 5], [4, 4, 2]])  # probabilities are these over their sums


def test_loss_is_the_mean_of_minus_log_probability():
    (loss,) = run_layer(TEXT.format(""), SCORES, [2.0, 0.0])
    np.testing.assert_allclose(loss, -(np.log(5 / 8) + np.log(4 / 10)) / 2)


def test_gradient_is_probability_less_1_at_the_label():
    net = run_net(TEXT.format("loss_weight: 4"), {"a": SCORES, "b": [2.0, 0.0]})
    net.backward()
    expected = [[1 / 8, 2 / 8, -3 / 8], [-6 / 10, 4 / 10, 2 / 10]]
    np.testing.assert_allclose(net.diff["a"], np.multiply(expected, 2))


def test_the_normalizer_of_the_last_forward_can_be_read():
    net = run_net(TEXT.format("loss_param { ignore_label: 0 }"), _spatial(None))
    assert net.layers[-1].last_normalizer == 2 * 6 - (net.data["b"] == 0).sum()


def _spatial(rng, classes=4):
    rng = rng or np.random.default_rng(3)
    labels = rng.integers(0, classes, size=(2, 3, 2)).astype(float)
    return {"a": rng.normal(size=(2, classes, 3, 2)), "b": labels}


@pytest.mark.parametrize(
    "param",
    [
        "",
        "loss_param { ignore_label: 1 }",
        "loss_param { normalization: FULL ignore_label: 2 }",
        "loss_param { normalization: NONE }",
        "loss_param { normalize: false }",
    ],
)
def test_gradient_is_that_of_differences(param, rng):
    check_gradient(TEXT.format(param), _spatial(rng))


def test_the_classes_may_lie_along_another_axis(rng):
    inputs = {"a": rng.normal(size=(2, 3, 5)), "b": rng.integers(0, 5, (2, 3)) * 1.0}
    check_gradient(TEXT.format("softmax_param { axis: -1 }"), inputs)


def test_backward_reads_what_it_declares(rng):
    check_backward_reads(TEXT.format(""), _spatial(rng))


@pytest.mark.parametrize("mode", ["VALID", "FULL", "BATCH_SIZE", "NONE"])
def test_a_batch_in_which_all_is_ignored_costs_nothing(mode, rng):
    param = f"loss_param {{ ignore_label: 255 normalization: {mode} }}"
    inputs = _spatial(rng) | {"b": np.full((2, 3, 2), 255.0)}
    net = run_net(TEXT.format(param), inputs)
    net.backward()
    assert net.data["c"] == 0
    np.testing.assert_array_equal(net.diff["a"], np.zeros((2, 4, 3, 2)))


def test_what_is_ignored_may_be_nan():
    inputs = {"a": [[np.nan, 1.0], [0.0, 0.0]], "b": [255.0, 1.0]}
    net = run_net(TEXT.format("loss_param { ignore_label: 255 }"), inputs)
    net.backward()
    np.testing.assert_allclose(net.data["c"], np.log(2))
    np.testing.assert_array_equal(net.diff["a"], [[0, 0], [0.5, -0.5]])


def test_a_second_top_holds_the_probabilities():
    text = TEXT.format('top: "p" loss_weight: 1 loss_weight: 0')
    _, probabilities = run_layer(text, SCORES, [0.0, 0.0])
    np.testing.assert_allclose(probabilities, [[0.125, 0.25, 0.625], [0.4, 0.4, 0.2]])


def test_segnet_weights_the_classes(rng):
    weights = "class_weighting: 1 class_weighting: 3 class_weighting: 0.5"
    param = f"loss_param {{ weight_by_label_freqs: true {weights} }}"
    (loss,) = run_layer(TEXT.format(param), SCORES, [1.0, 2.0])
    np.testing.assert_allclose(loss, -(3 * np.log(2 / 8) + 0.5 * np.log(2 / 10)) / 2)
    check_gradient(TEXT.format(param), _spatial(rng, classes=3))


def test_impossible_labels_cost_the_logarithm_of_the_least_float(caplog):
    inputs = {"a": np.array([[0.0, 1000.0]]), "b": np.array([0.0])}
    net = run_net(TEXT.format(""), inputs, dtype=np.float32)
    net.backward()
    net.forward()
    np.testing.assert_allclose(net.data["c"], 87.3365, rtol=1e-6)
    np.testing.assert_array_equal(net.diff["a"], [[-1, 1]])
    assert [record.getMessage() for record in caplog.records] == [
        "layer 'l' (SoftmaxWithLoss): softmax probability underflow, training has "
        "diverged"
    ]
    assert caplog.records[0].levelno == logging.WARNING


def test_scores_that_are_nan_are_seen(caplog):
    net = run_net(TEXT.format(""), {"a": [[np.nan, 1.0]], "b": [0.0]})
    assert np.isnan(net.data["c"])
    assert net.layers[-1].is_nan  # who runs the net says where it began
    assert not caplog.records


@pytest.mark.parametrize(
    ("param", "message"),
    [
        ("softmax_param { axis: 2 }", "axis 2 is outside of the bottom's 2 axes"),
        ("loss_param { label_smoothing: 0.1 }", "label_smoothing is not known"),
        (
            "loss_param { weight_by_label_freqs: true class_weighting: 1 }",
            "1 class_weighting entries for 3 classes",
        ),
    ],
)
def test_parameters_that_do_not_fit_are_refused(param, message):
    with pytest.raises(LayerError, match=message):
        run_layer(TEXT.format(param), SCORES, [0.0, 0.0])


def test_records_must_agree():
    with pytest.raises(LayerError, match="first extents, the records, must agree"):
        run_layer(TEXT.format(""), SCORES, [[0.0, 0.0]])
