"""Solvers with callbacks train as those without, on whatever net."""

import cv2
import numpy as np
import pytest

from geeps_caffe import caffe
from geeps_caffe.config.job import RunSettings

SOLVER = 'base_lr: 0.1 lr_policy: "fixed" random_seed: 3 net: "net"'
PICTURES = """
layer { name: "data" type: "ImageData" top: "x" top: "label"
  image_data_param { source: "list" batch_size: 1 } transform_param { scale: 0.01 } }
layer { name: "conv" type: "Convolution" bottom: "x" top: "conv"
  convolution_param { num_output: 2 kernel_size: 3 weight_filler { type: "xavier" } } }
layer { name: "mean" type: "Pooling" bottom: "conv" top: "mean"
  pooling_param { pool: AVE global_pooling: true } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "mean" bottom: "label" }
"""
#: Weights of 8 MB, which are updated by rows where nobody looks.
LARGE = """
layer { name: "x" type: "DummyData" top: "x" top: "y"
  dummy_data_param { shape { dim: 2 dim: 2048 } shape { dim: 2 dim: 1024 }
    data_filler { value: 1 } } }
layer { name: "ip" type: "InnerProduct" bottom: "x" top: "ip"
  inner_product_param { num_output: 1024 } }
layer { name: "loss" type: "EuclideanLoss" bottom: "ip" bottom: "y" }
"""


@pytest.fixture
def solver_of(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "solver").write_text(SOLVER)

    def build(net, settings=None):
        (tmp_path / "net").write_text(net)
        return caffe.get_solver("solver", settings)

    return build


def test_batches_may_have_shapes_of_their_own(solver_of):
    rng = np.random.default_rng(1)
    for name, size in (("a.png", (5, 6)), ("b.png", (8, 4))):
        cv2.imwrite(name, rng.integers(0, 256, (*size, 3), np.uint8))
    with open("list", "w") as file:
        file.write("a.png 0\nb.png 1\n")
    plain, watched = solver_of(PICTURES), solver_of(PICTURES)
    shapes = []
    watched.add_callback(
        lambda: None, lambda: shapes.append(watched.net.blobs["x"].shape)
    )
    plain.step(3)
    watched.step(3)
    assert [tuple(s) for s in shapes] == [(1, 3, 5, 6), (1, 3, 8, 4), (1, 3, 5, 6)]
    np.testing.assert_allclose(
        watched.net.params["conv"][0].data, plain.net.params["conv"][0].data, 1e-5, 1e-7
    )


def test_gradients_are_seen_whole_whatever_the_settings(solver_of):
    solver = solver_of(LARGE, RunSettings(engine="onednn", threads=1))
    weights = solver.net.params["ip"][0]
    solver.add_callback(lambda: None, lambda: weights.diff.fill(2))
    solver.step(1)
    np.testing.assert_allclose(weights.data, np.full((1024, 2048), -0.2), 1e-6)
