import numpy as np

from tests.layers.checks import run_net

TEXT = """layer { name: "l" type: "RNN" bottom: "a" bottom: "b" top: "y"
          recurrent_param { num_output: 1 } }"""


def test_two_steps_by_hand():
    params = {"l": [[[0.5]], [0.1], [[2.0]], [[-1.0]], [0.25]]}
    net = run_net(TEXT, {"a": [[[2.0]], [[3.0]]], "b": [[0.0], [1.0]]}, params)
    h = 0.0
    for t, x in enumerate([2.0, 3.0]):
        h = np.tanh(0.5 * x + 0.1 + 2 * h)
        np.testing.assert_allclose(net.data["y"][t], [[np.tanh(0.25 - h)]])


def test_blobs_are_in_caffe_s_order():
    text = TEXT.replace('bottom: "b"', 'bottom: "b" bottom: "c"')
    text = text.replace("num_output: 1", "num_output: 2")
    inputs = {"a": np.zeros((2, 3, 5)), "b": np.zeros((2, 3)), "c": np.zeros((3, 7))}
    net = run_net(text, inputs)
    shapes = [blob.shape for blob in net.params["l"]]
    assert shapes == [(2, 5), (2,), (2, 7), (2, 2), (2, 2), (2,)]
