import numpy as np
import pytest

import geeps_caffe as caffe
from geeps_caffe.device.backend import gpu_names
from geeps_caffe.errors import GraphError, InputError, UsageError

NET = """
name: "n"
layer { name: "data" type: "Input" top: "data"
  input_param { shape { dim: 2 dim: 3 dim: 4 dim: 4 } } }
layer { name: "conv" type: "Convolution" bottom: "data" top: "conv"
  convolution_param { num_output: 5 kernel_size: 3
    weight_filler { type: "xavier" } } }
layer { name: "relu" type: "ReLU" bottom: "conv" top: "conv" }
layer { name: "ip" type: "InnerProduct" bottom: "conv" top: "ip"
  inner_product_param { num_output: OUT weight_filler { type: "xavier" } } }
"""


COPIED = """
name: "copied"
force_backward: true
layer { name: "data" type: "Input" top: "data"
  input_param { shape { dim: 16 dim: 16 dim: 4 dim: 4 } } }
layer { name: "conv" type: "Convolution" bottom: "data" top: "conv"
  convolution_param { num_output: 16 kernel_size: 3
    weight_filler { type: "xavier" } } }
layer { name: "one" type: "InnerProduct" bottom: "conv" top: "one"
  param { name: "w" share_mode: PERMISSIVE }
  inner_product_param { num_output: 8 bias_term: false
    weight_filler { type: "xavier" } } }
layer { name: "two" type: "InnerProduct" bottom: "one" top: "two"
  param { name: "w" share_mode: PERMISSIVE }
  inner_product_param { num_output: 64 bias_term: false } }
"""


@pytest.fixture(params=["reference", "onednn"])
def engine(request):
    return request.param


def make(tmp_path, engine, outputs=2, phase=caffe.TEST):
    file = tmp_path / f"net{outputs}.prototxt"
    file.write_text(NET.replace("OUT", str(outputs)))
    return caffe.Net(str(file), phase, engine=engine)


def test_names_are_in_order(tmp_path, engine):
    net = make(tmp_path, engine)
    assert list(net.blobs) == ["data", "conv", "ip"]
    assert list(net.params) == ["conv", "ip"]
    assert net.inputs == ["data"]
    assert net.outputs == ["ip"]
    assert net._layer_names == ["data", "conv", "relu", "ip"]
    assert net.layers[1].type == "Convolution"
    assert net.params["conv"][0].data.shape == (5, 3, 3, 3)


OWN = """
layer { name: "own" type: "Python" top: "own"
  python_param { module: "roi_data" layer: "RoIData" } }
"""
OWN_MODULE = """
import caffe

class RoIData(caffe.Layer):
    numbers = ()
    def setup(self, bottom, top): pass
    def reshape(self, bottom, top): top[0].reshape(1)
    def forward(self, bottom, top): top[0].data[...] = self.take()
    def set_numbers(self, numbers): self.numbers = list(numbers)
    def take(self): return self.numbers.pop(0)
"""


def test_a_python_layer_is_the_user_s_object(tmp_path, engine):
    """As scripts give it what they have read: solver.net.layers[0].set_roidb(...)."""
    (tmp_path / "roi_data.py").write_text(OWN_MODULE)
    (tmp_path / "net.prototxt").write_text(OWN)
    net = caffe.Net(str(tmp_path / "net.prototxt"), caffe.TRAIN, engine=engine)
    own = net.layers[0]
    own.set_numbers([5, 6])
    assert net.forward()["own"] == 5
    own.numbers = [7]
    assert net.forward()["own"] == 7
    assert (own.type, own.blobs, net.layer_dict["own"].numbers) == ("Python", [], [])
    with pytest.raises(AttributeError, match="'RoIData' object has no attribute 'x'"):
        own.x  # noqa: B018


def test_forward_takes_inputs_and_gives_outputs(tmp_path, engine, rng):
    net = make(tmp_path, engine)
    x = rng.standard_normal((2, 3, 4, 4)).astype(np.float32)
    found = net.forward(data=x)["ip"]
    w, b = (p.data for p in net.params["conv"])
    windows = np.lib.stride_tricks.sliding_window_view(x, (3, 3), axis=(2, 3))
    conv = np.einsum("nchwij,kcij->nkhw", windows, w) + b[:, None, None]
    flat = np.maximum(conv, 0).reshape(2, -1)
    wanted = flat @ net.params["ip"][0].data.T + net.params["ip"][1].data
    np.testing.assert_allclose(found, wanted, 1e-4, 1e-5)


def test_a_part_of_the_net_runs(tmp_path, engine, rng):
    net = make(tmp_path, engine)
    net.forward(data=rng.standard_normal((2, 3, 4, 4)))
    net.blobs["conv"].data[...] = 1
    out = net.forward(start="ip")["ip"]
    wanted = net.params["ip"][0].data.sum(axis=1) + net.params["ip"][1].data
    np.testing.assert_allclose(out, np.stack([wanted, wanted]), 1e-4, 1e-5)
    assert set(net.forward(end="conv")) == {"conv"}


def test_backward_reads_what_python_has_written_since_forward(tmp_path, engine, rng):
    """Of blobs and params that layers read as copies in another layout or shape."""
    file = tmp_path / "net.prototxt"
    file.write_text(COPIED)
    net = caffe.Net(str(file), caffe.TRAIN, engine=engine)
    net.forward(data=rng.standard_normal((16, 16, 4, 4)))
    conv = rng.standard_normal((16, 16, 2, 2))
    weights = rng.standard_normal((8, 64))
    diff = rng.standard_normal((16, 64))
    net.blobs["conv"].data[...] = conv
    net.params["one"][0].data[...] = weights
    net.blobs["two"].diff[...] = diff
    net.backward()
    below = diff @ weights.reshape(64, 8)
    np.testing.assert_allclose(net.blobs["one"].diff, below, 1e-3, 1e-4)
    both = below.T @ conv.reshape(16, 64)
    both += (diff.T @ net.blobs["one"].data).reshape(8, 64)
    np.testing.assert_allclose(net.params["one"][0].diff, both, 1e-3, 1e-3)


def test_gradients_add_up_until_they_are_cleared(tmp_path, engine, rng):
    file = tmp_path / "net.prototxt"
    file.write_text("force_backward: true\n" + NET.replace("OUT", "2"))
    net = caffe.Net(str(file), caffe.TRAIN, engine=engine)
    net.forward(data=rng.standard_normal((2, 3, 4, 4)))
    net.blobs["ip"].diff[...] = 1
    net.backward()
    once = net.params["ip"][0].diff.copy()
    net.backward()
    np.testing.assert_allclose(net.params["ip"][0].diff, 2 * once, 1e-5)
    net.clear_param_diffs()
    assert not net.params["ip"][0].diff.any()
    assert net.blobs["data"].diff.any()


def test_weights_go_to_a_file_and_back(tmp_path, engine):
    net, other = make(tmp_path, engine), make(tmp_path, engine)
    net.params["conv"][0].data[...] = 3
    for name in ("w.caffemodel", "w.caffemodel.h5"):
        net.save(str(tmp_path / name))
        other.params["conv"][0].data[...] = 0
        other.copy_from(str(tmp_path / name))
        np.testing.assert_array_equal(other.params["conv"][0].data, 3)


def test_weights_of_another_shape_are_refused_with_all_shapes(tmp_path, engine):
    make(tmp_path, engine).save(str(tmp_path / "w.caffemodel"))
    other = make(tmp_path, engine, outputs=3)
    with pytest.raises(InputError, match=r"'ip'.*\(3, 20\).*\(2, 20\)"):
        other.copy_from(str(tmp_path / "w.caffemodel"))


def test_nets_share_params_but_not_gradients(tmp_path, engine, rng):
    net, other = make(tmp_path, engine), make(tmp_path, engine)
    other.share_with(net)
    net.params["conv"][0].data[...] = 0.5
    x = rng.standard_normal((2, 3, 4, 4))
    np.testing.assert_array_equal(
        net.forward(data=x)["ip"], other.forward(data=x)["ip"]
    )


def test_a_wrong_name_is_answered_with_the_nearest(tmp_path, engine):
    net = make(tmp_path, engine)
    with pytest.raises(GraphError, match="did you mean 'data'"):
        net.forward(date=np.zeros((2, 3, 4, 4)))
    with pytest.raises(GraphError, match="did you mean 'conv'"):
        net.forward(start="convv")
    with pytest.raises(UsageError, match=r"\(5, 3, 4, 4\).*reshape"):
        net.forward(data=np.zeros((5, 3, 4, 4)))


def test_dummy_tops_keep_what_python_writes(tmp_path, engine):
    file = tmp_path / "dummy.prototxt"
    file.write_text(
        'layer { name: "d" type: "DummyData" top: "x" '
        "dummy_data_param { shape { dim: 2 } } }\n"
        'layer { name: "p" type: "Power" bottom: "x" top: "y" '
        "power_param { scale: 2 } }"
    )
    for passes_before in (0, 1):
        net = caffe.Net(str(file), caffe.TRAIN, engine=engine)
        for _ in range(passes_before):
            net.forward()
        net.blobs["x"].data[...] = 5
        np.testing.assert_array_equal(net.forward()["y"], [10, 10])


def test_dummy_tops_keep_what_python_writes_when_inputs_are_reshaped(tmp_path, engine):
    file = tmp_path / "dummy.prototxt"
    file.write_text(
        'layer { name: "in" type: "Input" top: "a" '
        "input_param { shape { dim: 1 dim: 2 } } }\n"
        'layer { name: "d" type: "DummyData" top: "x" top: "r" dummy_data_param {'
        ' shape { dim: 2 } data_filler { value: 3 } data_filler { type: "uniform" } } }'
        'layer { name: "q" type: "ReLU" bottom: "x" top: "x" }'
        'layer { name: "p" type: "Power" bottom: "x" top: "y" '
        "power_param { scale: 2 } }"
    )
    net = caffe.Net(str(file), caffe.TRAIN, engine=engine)
    assert net.blobs["x"].data.tolist() == [3, 3]
    net.blobs["a"].reshape(4, 2)
    assert net.blobs["x"].data.tolist() == [3, 3]
    assert net.forward()["y"].tolist() == [6, 6]
    net.blobs["x"].data[...] = 5
    for batch in (3, 4, 1):
        net.blobs["a"].reshape(batch, 2)
        assert net.blobs["x"].data.tolist() == [5, 5]
        drawn = net.blobs["r"].data.copy()
        assert net.forward()["y"].tolist() == [10, 10]
        assert (net.blobs["r"].data != drawn).all()


def test_dummy_tops_keep_what_python_writes_when_params_are_shared(tmp_path, engine):
    file = tmp_path / "dummy.prototxt"
    file.write_text(
        'layer { name: "d" type: "DummyData" top: "x" '
        "dummy_data_param { shape { dim: 1 dim: 2 } data_filler { value: 3 } } }\n"
        'layer { name: "ip" type: "InnerProduct" bottom: "x" top: "y" '
        "inner_product_param { num_output: 1 weight_filler { value: 1 } } }"
    )
    net, other = (caffe.Net(str(file), caffe.TEST, engine=engine) for _ in range(2))
    assert net.forward()["y"].tolist() == [[6]]
    net.blobs["x"].data[...] = 5
    net.share_with(other)
    assert net.blobs["x"].data.tolist() == [[5, 5]]
    assert net.forward()["y"].tolist() == [[10]]


def test_constants_of_dummy_tops_are_there_before_the_net_runs(tmp_path, engine):
    file = tmp_path / "dummy.prototxt"
    file.write_text(
        'layer { name: "d" type: "DummyData" top: "x" dummy_data_param {'
        ' shape { dim: 2 } data_filler { type: "constant" value: 3 } } }'
    )
    net = caffe.Net(str(file), caffe.TRAIN, engine=engine)
    assert net.blobs["x"].data.tolist() == [3, 3]
    with pytest.raises(UsageError, match=r"'x' of layer 'd'.*keeps the shape"):
        net.blobs["x"].reshape(4)


PAIR = """
layer { name: "in" type: "Input" top: "a" top: "b"
  input_param { shape { dim: 2 dim: 3 } } }
layer { name: "sum" type: "Eltwise" bottom: "a" bottom: "b" top: "sum" }
layer { name: "ip" type: "InnerProduct" bottom: "sum" top: "ip"
  inner_product_param { num_output: 1 bias_term: false
    weight_filler { type: "constant" value: 1 } } }
"""


@pytest.fixture
def pair(tmp_path, engine):
    file = tmp_path / "pair.prototxt"
    file.write_text(PAIR)
    return caffe.Net(str(file), caffe.TEST, engine=engine)


def test_inputs_are_reshaped_and_filled_one_after_the_other(pair):
    for batch in (4, 1, 3):
        for name, value in (("a", 1), ("b", 2)):
            blob = pair.blobs[name]
            blob.reshape(batch, 3)
            assert blob.data.shape == blob.shape == (batch, 3)
            blob.data[...] = value
        assert pair.forward()["ip"].tolist() == [[9.0]] * batch


def test_what_is_written_after_shapes_agree_wins(pair):
    pair.blobs["a"].reshape(1, 3)
    assert pair.blobs["b"].data.shape == (2, 3)
    pair.blobs["b"].reshape(1, 3)
    for name in ("a", "b"):
        pair.blobs[name].data[...] = 4
    assert pair.forward()["ip"].tolist() == [[24.0]]


def test_an_array_held_from_before_shapes_agreed_is_still_the_blobs(pair):
    held = []
    for name in ("a", "b"):
        pair.blobs[name].reshape(1, 3)
        held.append(pair.blobs[name].data)
    for values in (1, 2, 5):
        for array in held:
            array[...] = values
        assert pair.forward()["ip"].tolist() == [[6.0 * values]]


def test_values_are_kept_while_shapes_do_not_agree(pair):
    for name in ("a", "b"):
        pair.blobs[name].data[...] = [[1, 2, 3], [4, 5, 6]]
    pair.blobs["a"].reshape(1, 3)
    assert pair.blobs["a"].data.tolist() == [[1, 2, 3]]
    assert pair.blobs["b"].data.tolist() == [[1, 2, 3], [4, 5, 6]]
    pair.blobs["b"].reshape(1, 3)
    assert pair.forward()["ip"].tolist() == [[12.0]]
    pair.blobs["a"].reshape(2, 3)
    assert pair.blobs["b"].data.tolist() == [[1, 2, 3]]
    pair.blobs["b"].reshape(2, 3)
    pair.blobs["b"].data[1] = [4, 5, 6]
    pair.blobs["a"].data[1] = 0
    assert pair.forward()["ip"].tolist() == [[12.0], [15.0]]


def test_shapes_that_never_agree_are_refused_when_the_net_runs(pair):
    pair.blobs["a"].reshape(5, 3)
    pair.blobs["a"].data[...] = 1
    for _ in range(2):
        with pytest.raises(InputError, match="all must have one shape"):
            pair.forward()


def test_a_net_that_shares_params_keeps_inputs_blobs_and_hooks(tmp_path, engine, rng):
    net, other = make(tmp_path, engine), make(tmp_path, engine)
    blob, called = other.blobs["ip"], []
    x = rng.standard_normal((2, 3, 4, 4))
    other.blobs["data"].data[...] = x
    other.before_forward(called.append)
    other.share_with(net)
    wanted = net.forward(data=x)["ip"]
    np.testing.assert_array_equal(other.forward()["ip"], wanted)
    np.testing.assert_array_equal(blob.data, wanted)
    assert called


def test_what_a_net_may_not_mean_is_logged(tmp_path, caplog):
    path = tmp_path / "net.prototxt"
    path.write_text(
        'layer { name: "data" type: "Input" top: "x" '
        "input_param { shape { dim: 2 dim: 3 } } }\n"
        'layer { name: "bn" type: "BatchNorm" bottom: "x" top: "x" '
        "batch_norm_param { scale_bias: true } }"
    )
    caffe.Net(str(path), caffe.TRAIN)
    assert f"{path}:2: layer 'bn': batch_norm_param.scale_bias is a" in caplog.text


def test_the_mode_of_a_gpu_that_is_not_there_is_told(caplog):
    if not gpu_names():
        caffe.set_mode_gpu()
        caffe.set_mode_cpu()
        assert "no usable GPU: computing on the CPU" in caplog.text
