"""A net's batch is changed from Python in the middle of a run."""

import cv2
import numpy as np
import pytest

from geeps_caffe.caffe import TRAIN, Net, get_solver
from geeps_caffe.config.job import RunSettings
from geeps_caffe.data.datum import write_encoded
from tests.data.databases import make_database

NET = """
name: "small"
layer {{ name: "data" type: "Input" top: "data" top: "label"
  input_param {{ shape {{ dim: {n} dim: 1 dim: 8 dim: 8 }} shape {{ dim: {n} }} }} }}
layer {{ name: "conv" type: "Convolution" bottom: "data" top: "conv"
  convolution_param {{ num_output: 5 kernel_size: 3
    weight_filler {{ type: "xavier" }} }} }}
layer {{ name: "relu" type: "ReLU" bottom: "conv" top: "conv" }}
layer {{ name: "pool" type: "Pooling" bottom: "conv" top: "pool"
  pooling_param {{ pool: MAX kernel_size: 2 stride: 2 }} }}
layer {{ name: "ip" type: "InnerProduct" bottom: "pool" top: "ip"
  inner_product_param {{ num_output: 3 weight_filler {{ type: "xavier" }} }} }}
layer {{ name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label"
  top: "loss" }}
"""
SOLVER = """
net: "{net}" base_lr: 0.1 momentum: 0.9 lr_policy: "fixed" random_seed: 3
"""


@pytest.fixture(params=["reference", "onednn"])
def settings(request):
    return RunSettings(engine=request.param, seed=3, keep_all=True)


def make_solver(tmp_path, settings, batch):
    net = tmp_path / f"net{batch}.prototxt"
    net.write_text(NET.format(n=batch))
    solver = tmp_path / f"solver{batch}.prototxt"
    solver.write_text(SOLVER.format(net=net))
    return get_solver(str(solver), settings)


def feed(net, batch, seed):
    rng = np.random.default_rng(seed)
    net.blobs["data"].data[...] = rng.standard_normal((batch, 1, 8, 8))
    net.blobs["label"].data[...] = rng.integers(0, 3, batch)


def test_training_goes_on_at_another_batch_and_back(tmp_path, settings):
    solver = make_solver(tmp_path, settings, 4)
    other = make_solver(tmp_path, settings, 6)
    for name, blobs in other.net.params.items():
        for mine, theirs in zip(solver.net.params[name], blobs, strict=True):
            theirs.data[...] = mine.data
    for batch in (6, 6):
        solver.net.blobs["data"].reshape(batch, 1, 8, 8)
        solver.net.blobs["label"].reshape(batch)
        feed(solver.net, batch, 1)
        feed(other.net, batch, 1)
        solver.step(1)
        other.step(1)
    for name, blobs in other.net.params.items():
        for mine, theirs in zip(solver.net.params[name], blobs, strict=True):
            np.testing.assert_allclose(mine.data, theirs.data, 1e-5, 1e-6)
    assert solver.net.blobs["conv"].data.shape == (6, 5, 6, 6)
    solver.net.blobs["data"].reshape(4, 1, 8, 8)
    solver.net.blobs["label"].reshape(4)
    feed(solver.net, 4, 2)
    solver.step(1)
    assert solver.net.blobs["conv"].data.shape == (4, 5, 6, 6)


def test_a_net_is_reshaped_by_its_inputs(tmp_path, settings):
    file = tmp_path / "net.prototxt"
    file.write_text(NET.format(n=2))
    net = Net(str(file), TRAIN, engine=settings.engine)
    feed(net, 2, 1)
    first = {k: v.copy() for k, v in net.forward().items()}
    net.blobs["data"].reshape(5, 1, 8, 8)
    net.blobs["label"].reshape(5)
    assert net.blobs["data"].data.shape == (5, 1, 8, 8)
    feed(net, 5, 2)
    net.forward()
    net.blobs["data"].reshape(2, 1, 8, 8)
    net.blobs["label"].reshape(2)
    feed(net, 2, 1)
    np.testing.assert_array_equal(net.forward()["loss"], first["loss"])


def test_what_python_writes_into_params_counts_in_the_next_step(tmp_path, settings):
    solver = make_solver(tmp_path, settings, 4)
    feed(solver.net, 4, 1)
    held = solver.net.params["conv"][0].data
    solver.net.params["ip"][0].data[...] = 0
    solver.net.params["ip"][1].data[...] = [0, 0, 100]
    solver.net.blobs["label"].data[...] = 2
    before = held.copy()
    solver.step(1)
    assert float(solver.net.blobs["loss"].data) == 0
    np.testing.assert_array_equal(held, before)  # no loss, no gradient
    solver.net.blobs["label"].data[...] = 1
    ip = solver.net.params["ip"][0].data
    ip[...] = np.arange(ip.size).reshape(ip.shape) % 7
    solver.step(1)
    assert not np.array_equal(held, before)  # what is held shows the new weights


PICTURES = """
layer {{ name: "data" type: "Data" top: "data"
  data_param {{ source: "{path}" backend: LMDB batch_size: 1 }} }}
layer {{ name: "conv" type: "Convolution" bottom: "data" top: "conv"
  convolution_param {{ num_output: 2 kernel_size: 1 bias_term: false
    weight_filler {{ type: "constant" value: 1 }} }} }}
"""


def test_a_net_follows_the_sizes_of_its_pictures(tmp_path, rng, settings):
    sizes = [(4, 6), (5, 6), (5, 6), (9, 2)]
    images = [rng.integers(0, 256, (*size, 3), np.uint8) for size in sizes]
    files = [cv2.imencode(".png", image)[1].tobytes() for image in images]
    records = [write_encoded(file, 0) for file in files]
    path = make_database(tmp_path / "db", records)
    (tmp_path / "net.prototxt").write_text(PICTURES.format(path=path))
    net = Net(str(tmp_path / "net.prototxt"), TRAIN, engine=settings.engine)
    for image in images * 2:
        net.forward()
        expected = np.stack([image.sum(axis=2)] * 2)[None]
        np.testing.assert_array_equal(net.blobs["conv"].data, expected)
