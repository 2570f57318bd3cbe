import numpy as np

from tests.layers.checks import run_net

TEXT = 'layer { name: "l" type: "Silence" bottom: "a" bottom: "b" }'


def test_the_diffs_of_what_is_silenced_are_0():
    net = run_net(TEXT, {"a": np.ones((2, 3)), "b": np.ones(4)})
    net.backward()
    assert net.outputs == []
    np.testing.assert_array_equal(net.diff["a"], np.zeros((2, 3)))
    np.testing.assert_array_equal(net.diff["b"], np.zeros(4))
