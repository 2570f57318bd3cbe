"""Gradients add up over batches whose pictures have several sizes."""

import cv2
import numpy as np
import pytest

import prototxt
from geeps_caffe.config.job import RunSettings
from geeps_caffe.data.datum import write_encoded
from geeps_caffe.execution.trainer import Trainer
from tests.data.databases import make_database

SOLVER = """base_lr: 1 lr_policy: "fixed" iter_size: 3 max_iter: 2
  snapshot_after_train: false
  net_param {{
    layer {{ name: "data" type: "Data" top: "data"
      data_param {{ source: "{path}" backend: LMDB batch_size: 1 }} }}
    {layers}
    layer {{ name: "loss" type: "Reduction" bottom: "found" top: "loss"
      loss_weight: 1 }} }}"""
LAYERS = {
    "pictures": """
      layer { name: "layer" type: "Convolution" bottom: "data" top: "found"
        convolution_param { num_output: 1 kernel_size: 1 bias_term: false } }""",
    #: Of which a picture has several parts.
    "pixels": """
      layer { name: "pixels" type: "Reshape" bottom: "data" top: "pixels"
        reshape_param { shape { dim: -1 dim: 1 } } }
      layer { name: "layer" type: "InnerProduct" bottom: "pixels" top: "found"
        inner_product_param { num_output: 1 bias_term: false } }""",
}


@pytest.mark.parametrize("engine", ["reference", "onednn"])
@pytest.mark.parametrize("records", LAYERS)
def test_every_size_counts(tmp_path, rng, engine, records):
    sizes = [(4, 6), (5, 6), (4, 6), (9, 2), (4, 6), (5, 6)]
    images = [rng.integers(0, 4, (*size, 3), np.uint8) for size in sizes]
    files = [cv2.imencode(".png", image)[1].tobytes() for image in images]
    path = make_database(tmp_path / "db", [write_encoded(f, 0) for f in files])
    solver = prototxt.parse_solver(
        SOLVER.format(path=path, layers=LAYERS[records])
    ).message
    trainer = Trainer(solver, "", RunSettings(engine=engine, seed=2))
    trainer.solve()
    weights = np.array(trainer.net.param("layer/0")).reshape(-1)
    pixels = np.concatenate([image.reshape(-1, 3) for image in images])
    total = pixels.reshape(-1, weights.size).sum(axis=0, dtype=np.int64)
    np.testing.assert_allclose(weights, -total / 3, 1e-5)


GROWING = """base_lr: 1 lr_policy: "fixed" iter_size: 3 max_iter: 2
  snapshot_after_train: false
  net_param {
    layer { name: "data" type: "Python" top: "data"
      python_param { module: "tests.execution.growing" layer: "Growing" } }
    layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip"
      inner_product_param { num_output: 1 bias_term: false } }
    layer { name: "loss" type: "Reduction" bottom: "ip" top: "loss"
      loss_weight: 1 } }"""


@pytest.mark.parametrize("engine", ["reference", "onednn"])
def test_batches_of_a_python_layer_count_whatever_their_size(engine):
    solver = prototxt.parse_solver(GROWING).message
    trainer = Trainer(solver, "", RunSettings(engine=engine, seed=2))
    trainer.solve()
    wanted = -2 * (32 + 48 + 64) / 3
    np.testing.assert_allclose(trainer.net.param("ip/0"), wanted, 1e-5)
