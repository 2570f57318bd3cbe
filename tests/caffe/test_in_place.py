"""Blobs that are changed in place, when parts of a net run: one memory, as in Caffe."""

import numpy as np
import pytest

import geeps_caffe as caffe
from geeps_caffe.errors import UsageError

NET = """
force_backward: true
layer { name: "in" type: "Input" top: "x" input_param { shape { dim: 2 dim: 3 } } }
layer { name: "ip" type: "InnerProduct" bottom: "x" top: "h"
  inner_product_param { num_output: 4 bias_term: false
    weight_filler { type: "gaussian" std: 1 } } }
layer { name: "relu" type: "ReLU" bottom: "h" top: "h" }
layer { name: "ten" type: "Power" bottom: "h" top: "h" power_param { scale: 10 } }
"""
TOP = """
layer { name: "out" type: "Power" bottom: "h" top: "y" power_param { scale: 2 } }
"""


@pytest.fixture(params=["reference", "onednn"])
def make(request, tmp_path):
    def net(text):
        file = tmp_path / "net.prototxt"
        file.write_text(text)
        return caffe.Net(str(file), caffe.TEST, engine=request.param)

    return net


@pytest.fixture
def x(rng):
    return rng.standard_normal((2, 3)).astype(np.float32)


def weights(net):
    return net.params["ip"][0].data


def near(found, wanted):
    np.testing.assert_allclose(found, wanted, 1e-4, 1e-5)


def test_a_blob_shows_what_its_last_layer_that_ran_wrote(make, x):
    net = make(NET + TOP)
    held = net.blobs["h"].data
    net.forward(x=x)
    h = x @ weights(net).T
    for end, wanted in (("ip", h), ("relu", h.clip(0)), ("ten", 10 * h.clip(0))):
        near(net.forward(end=end)["h"], wanted)
        near(held, wanted)


def test_a_part_begins_with_what_is_in_the_blob(make, x):
    net = make(NET + TOP)
    net.forward(x=x)
    net.blobs["h"].data[...] = [[-1, 2, -3, 4]] * 2
    near(net.forward(start="relu", end="relu")["h"], [[0, 2, 0, 4]] * 2)
    near(net.forward(start="ten")["y"], [[0, 40, 0, 80]] * 2)
    near(net.forward(start="ten")["y"], [[0, 400, 0, 800]] * 2)


def test_an_input_is_changed_in_place(make, x):
    net = make(
        'layer { name: "in" type: "Input" top: "x" top: "z"'
        "  input_param { shape { dim: 2 dim: 3 } } }"
        'layer { name: "neg" type: "Power" bottom: "x" top: "x"'
        "  power_param { scale: -1 } }"
        'layer { name: "sum" type: "Eltwise" bottom: "x" bottom: "z" top: "sum" }'
    )
    near(net.forward(x=x, z=0 * x)["sum"], -x)
    near(net.blobs["x"].data, -x)
    near(net.forward()["sum"], x)
    net.blobs["x"].data[...] = 5
    net.blobs["x"].reshape(1, 3)
    net.blobs["z"].reshape(1, 3)
    net.blobs["z"].data[...] = 1
    near(net.forward()["sum"], [[-4, -4, -4]])


def test_backward_begins_in_the_middle_with_the_blobs_gradient(make, x):
    net = make(NET + TOP)
    net.forward(x=x)
    w = weights(net)
    slope = (x @ w.T > 0).astype(np.float32)
    given = np.arange(8, dtype=np.float32).reshape(2, 4)
    for start, factor in (("ip", 1), ("relu", slope), ("ten", 10 * slope)):
        net.blobs["h"].diff[...] = given
        near(net.backward(start=start)["x"], (given * factor) @ w)
        near(net.blobs["h"].diff, given * factor)


def test_backward_runs_twice_with_other_gradients(make, x):
    net = make(NET)
    net.forward(x=x)
    w = weights(net)
    slope = 10 * (x @ w.T > 0)
    for value in (1, 3):
        near(net.backward(h=np.full((2, 4), value))["x"], (value * slope) @ w)
    net.blobs["h"].diff[...] = 5
    near(net.backward()["x"], (5 * slope) @ w)


def test_gradients_stay_when_the_net_runs_forward(make, x):
    net = make(NET)
    net.forward(x=x)
    net.backward(h=np.ones((2, 4)))
    before = net.blobs["h"].diff.copy()
    net.forward()
    np.testing.assert_array_equal(net.blobs["h"].diff, before)


def test_hooks_see_each_state_and_may_change_it(make, x):
    net = make(NET + TOP)
    seen = {}
    net.before_forward(lambda i: seen.setdefault(("before", i), data().copy()))
    net.after_forward(lambda i: seen.setdefault(("after", i), data().copy()))
    net.after_forward(lambda i: data().fill(1) if i == 2 else None)

    def data():
        return net.blobs["h"].data

    out = net.forward(x=x)["y"]
    h = x @ weights(net).T
    near(seen["after", 1], h)
    near(seen["before", 2], h)
    near(seen["after", 2], h.clip(0))
    near(seen["before", 3], np.ones((2, 4)))
    near(seen["after", 3], np.full((2, 4), 10))
    near(out, np.full((2, 4), 20))


def test_what_a_hook_writes_after_the_last_layer_stays(make, x):
    net = make(NET)
    net.after_forward(lambda i: net.blobs["h"].data.fill(7) if i == 3 else None)
    near(net.forward(x=x)["h"], np.full((2, 4), 7))


def test_hooks_see_gradients_of_each_state(make, x):
    net = make(NET)
    net.forward(x=x)
    slope = (x @ weights(net).T > 0).astype(np.float32)
    seen = []
    net.before_backward(lambda i: seen.append((i, net.blobs["h"].diff.copy())))
    net.backward(h=np.ones((2, 4)))
    assert [layer for layer, _ in seen] == [3, 2, 1, 0]
    for (_, found), wanted in zip(seen, (1, 10, *[10 * slope] * 2), strict=True):
        near(found, np.broadcast_to(wanted, (2, 4)))


def test_a_solver_leaves_the_gradients_before_the_change(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "net.prototxt").write_text("""
layer { name: "d" type: "DummyData" top: "x" top: "t" dummy_data_param {
  shape { dim: 2 dim: 1 } shape { dim: 2 dim: 2 }
  data_filler { type: "constant" value: 1 } } }
layer { name: "ip" type: "InnerProduct" bottom: "x" top: "h"
  inner_product_param { num_output: 2 } }
layer { name: "relu" type: "ReLU" bottom: "h" top: "h" }
layer { name: "loss" type: "EuclideanLoss" bottom: "h" bottom: "t" top: "loss" }
""")
    (tmp_path / "s.prototxt").write_text(
        'net: "net.prototxt" base_lr: 0.5 lr_policy: "fixed" snapshot_after_train: '
        "false"
    )
    solver = caffe.get_solver("s.prototxt")
    solver.net.params["ip"][0].data[...] = [[-2], [2]]
    solver.net.blobs["t"].data[...] = 1
    solver.net.params["ip"][1].data[...] = 0
    solver.step(1)
    t = solver.net.blobs["t"].data[0, 0]
    near(solver.net.blobs["h"].diff, [[0, (2 - t) / 2]] * 2)


def test_values_for_a_blob_that_the_net_writes_are_refused(make, x):
    net = make(NET + TOP)
    with pytest.raises(UsageError, match=r"'h', which layer 'ip'.*inputs are 'x'"):
        net.forward(h=np.ones((2, 4)))
    near(net.forward(start="out", h=np.ones((2, 4)))["y"], np.full((2, 4), 2))
    with pytest.raises(UsageError, match=r"'h', which the layers.*outputs are 'y'"):
        net.backward(h=np.ones((2, 4)))
    with pytest.raises(ValueError, match=r"'y' has shape \(1, 4\).*\(2, 4\)"):
        net.backward(y=np.ones((1, 4)))
    with pytest.raises(ValueError, match=r"'y' has shape \(2, 3\).*\(2, 4\)"):
        net.backward(y=np.ones((2, 3)))
