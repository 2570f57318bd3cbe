import numpy as np

from tests.layers.checks import check_backward_reads, check_gradient, run_layer

TEXT = 'layer { name: "l" type: "AbsVal" bottom: "a" top: "b" }'


def test_signs_are_dropped():
    (y,) = run_layer(TEXT, [-2.0, 0.0, 3.0])
    np.testing.assert_array_equal(y, [2, 0, 3])


def test_gradient_is_that_of_differences(rng):
    x = rng.normal(size=(2, 5))
    x[abs(x) < 0.01] = 0.5
    check_gradient(TEXT, {"a": x})


def test_backward_reads_what_it_declares(rng):
    check_backward_reads(TEXT, {"a": rng.normal(size=(2, 3))})
