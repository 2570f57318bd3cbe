import numpy as np

from tests.layers.checks import check_backward_reads, check_gradient, run_net

TEXT = """layer { name: "l" type: "Parameter" top: "b"
          parameter_param { shape { dim: 2 dim: 3 } } }"""


def test_the_top_is_the_blob():
    value = np.arange(6.0).reshape(2, 3)
    net = run_net(TEXT, params={"l": [value]})
    np.testing.assert_array_equal(net.data["b"], value)


def test_gradient_is_that_of_differences():
    check_gradient(TEXT, {})


def test_backward_reads_what_it_declares():
    check_backward_reads(TEXT, {})
