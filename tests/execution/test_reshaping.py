"""A net's batch is changed from Python in the middle of a run."""

import sys

import cv2
import numpy as np
import pytest

import prototxt
from geeps_caffe.caffe import TRAIN, Net, get_solver
from geeps_caffe.config.job import RunSettings
from geeps_caffe.data.datum import write_encoded
from geeps_caffe.execution.trainer import Trainer
from geeps_caffe.layers.python_class import PythonLayer
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


@pytest.fixture
def sources(monkeypatch):
    """This module's Python layers under a name that nets can give."""
    monkeypatch.setitem(sys.modules, "sources", sys.modules[__name__])


class Rows(PythonLayer):
    """Batches of as many rows as `counts` says, shaped in forward: RoI data."""

    counts = ()

    def setup(self, bottom, top):
        top[0].reshape(4, 20)

    def reshape(self, bottom, top):
        pass

    def forward(self, bottom, top):
        first, *self.counts = self.counts
        top[0].reshape(first, 20)
        top[0].data[...] = first


class Ramp(PythonLayer):
    """Batches of 2, 3, 4, ... rows, shaped in reshape."""

    rows = 0

    def reshape(self, bottom, top):
        self.rows += 1
        top[0].reshape(self.rows, 20)

    def forward(self, bottom, top):
        top[0].data[...] = self.rows


OF_SOURCES = """
layer { name: "a" type: "Python" top: "a"
  python_param { module: "sources" layer: "Rows" } }
layer { name: "b" type: "Python" top: "b"
  python_param { module: "sources" layer: "Ramp" } }
layer { name: "ip_a" type: "InnerProduct" bottom: "a" top: "ip_a"
  inner_product_param { num_output: 16 weight_filler { type: "constant" value: 1 } } }
layer { name: "ip_b" type: "InnerProduct" bottom: "b" top: "ip_b"
  inner_product_param { num_output: 16 weight_filler { type: "constant" value: 1 } } }
"""


@pytest.mark.usefixtures("sources")
def test_a_net_follows_all_its_python_sources(tmp_path, settings):
    """Wherever they reshape; arrays of the last pass may be held meanwhile."""
    (tmp_path / "net.prototxt").write_text(OF_SOURCES)
    net = Net(str(tmp_path / "net.prototxt"), TRAIN, engine=settings.engine)
    counts = [3, 4, 4, 1, 9]
    net.layers[0].counts = counts
    held = []
    for ramp, rows in enumerate(counts, start=2):
        found = net.forward()
        np.testing.assert_array_equal(found["ip_a"], np.full((rows, 16), 20 * rows))
        np.testing.assert_array_equal(found["ip_b"], np.full((ramp, 16), 20 * ramp))
        assert net.blobs["a"].data.shape == (rows, 20)
        held.append((found, net.blobs["a"].data))


@pytest.mark.usefixtures("sources")
def test_a_part_makes_its_own_batches_alone(tmp_path, settings):
    (tmp_path / "net.prototxt").write_text(OF_SOURCES)
    net = Net(str(tmp_path / "net.prototxt"), TRAIN, engine=settings.engine)
    for rows in (2, 3):
        found = net.forward(start="b")["ip_b"]
        np.testing.assert_array_equal(found, np.full((rows, 16), 20 * rows))


@pytest.mark.usefixtures("sources")
def test_training_follows_a_python_source_that_reshapes_in_forward(settings):
    net = OF_SOURCES + (
        'layer { name: "loss" type: "Reduction" bottom: "ip_a" top: "loss" '
        "loss_weight: 1 reduction_param { operation: MEAN } }"
    )
    solver = prototxt.parse_solver(
        f'base_lr: 1 lr_policy: "fixed" iter_size: 2 net_param {{ {net} }}'
    ).message
    trainer = Trainer(solver, "", settings)
    rows = trainer.net.graph.nodes[0].layer.user
    rows.counts = [3, 4, 5, 1]
    trainer.step(2)
    # Of a mean over n rows of 16 numbers, all inputs n, a weight's gradient is n / 16.
    np.testing.assert_allclose(trainer.net.param("ip_a/0"), 1 - 13 / 16 / 2, 1e-5)
    assert rows.counts == []


def test_params_that_python_holds_outlive_another_shape(tmp_path, settings):
    file = tmp_path / "net.prototxt"
    file.write_text(NET.format(n=2))
    net = Net(str(file), TRAIN, engine=settings.engine)
    bias, gradient = net.params["ip"][1].data, net.params["ip"][1].diff
    for batch in (5, 3):
        net.blobs["data"].reshape(batch, 1, 8, 8)
        net.blobs["label"].reshape(batch)
        feed(net, batch, 1)
        net.blobs["label"].data[...] = 0
        bias[...] = [-100, 0, -100]  # all are 1, and are to be 0
        net.clear_param_diffs()
        net.forward()
        net.backward()
        np.testing.assert_allclose(gradient, [-1, 1, 0], atol=1e-5)
