import numpy as np

from tests.layers.checks import run_net

TEXT = """layer { name: "l" type: "LSTM" bottom: "a" bottom: "b" top: "y"
          recurrent_param { num_output: 1 } }"""


def _sigmoid(x):
    return 1 / (1 + np.exp(-x))


def test_two_steps_by_hand():
    wx, b, wh = [0.1, 0.2, 0.3, 0.4], [0.5, -0.5, 0.25, 1.0], [1.0, 2.0, -1.0, 0.5]
    params = {"l": [np.reshape(wx, (4, 1)), b, np.reshape(wh, (4, 1))]}
    net = run_net(TEXT, {"a": [[[2.0]], [[3.0]]], "b": [[0.0], [1.0]]}, params)
    h = c = 0.0
    for t, x in enumerate([2.0, 3.0]):
        i, f, o, g = np.multiply(wx, x) + b + np.multiply(wh, h)
        c = _sigmoid(f) * c + _sigmoid(i) * np.tanh(g)
        h = _sigmoid(o) * np.tanh(c)
        np.testing.assert_allclose(net.data["y"][t], [[h]])


def test_blobs_are_in_caffe_s_order():
    text = TEXT.replace('bottom: "b"', 'bottom: "b" bottom: "c"')
    inputs = {"a": np.zeros((2, 3, 5)), "b": np.zeros((2, 3)), "c": np.zeros((3, 7))}
    net = run_net(text, inputs)
    shapes = [blob.shape for blob in net.params["l"]]
    assert shapes == [(4, 5), (4,), (4, 7), (4, 1)]
