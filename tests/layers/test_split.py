import numpy as np

from tests.layers.checks import check_backward_reads, check_gradient, run_net

TEXT = 'layer { name: "l" type: "Split" bottom: "a" top: "b" top: "c" top: "d" }'


def test_tops_are_the_bottom_and_its_diff_is_the_sum_of_theirs():
    net = run_net(TEXT, {"a": [1.0, 2.0]})
    net.backward({"b": [1, 0], "c": [10, 20], "d": [100, 300]})
    for name in "bcd":
        assert np.shares_memory(net.data[name], net.data["a"])
    np.testing.assert_array_equal(net.diff["a"], [111, 320])


def test_gradient_is_that_of_differences(rng):
    check_gradient(TEXT, {"a": rng.normal(size=(2, 3))})


def test_backward_reads_what_it_declares(rng):
    check_backward_reads(TEXT, {"a": rng.normal(size=(2, 3))})
