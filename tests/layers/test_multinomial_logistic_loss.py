import numpy as np

from tests.layers.checks import check_backward_reads, check_gradient, run_layer

TEXT = """layer { name: "l" type: "MultinomialLogisticLoss" bottom: "a" bottom: "b"
          top: "c" }"""


def test_loss_is_the_mean_of_minus_log_probability():
    (y,) = run_layer(TEXT, [[0.5, 0.5], [0.2, 0.8]], [0.0, 1.0])
    np.testing.assert_allclose(y, -(np.log(0.5) + np.log(0.8)) / 2)


def test_a_probability_of_0_is_taken_for_1e_20():
    (y,) = run_layer(TEXT, [[0.0, 1.0]], [0.0])
    np.testing.assert_allclose(y, 20 * np.log(10))


def test_gradient_is_that_of_differences(rng):
    inputs = {"a": rng.uniform(0.2, 1, size=(4, 3)), "b": [0.0, 2, 1, 1]}
    check_gradient(TEXT, inputs)


def test_backward_reads_what_it_declares(rng):
    inputs = {"a": rng.uniform(0.2, 1, size=(2, 3)), "b": np.array([0.0, 2])}
    check_backward_reads(TEXT, inputs)
