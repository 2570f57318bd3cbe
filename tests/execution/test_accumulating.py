"""Gradients of several batches add up, in large arrays by the engine's threads."""

import numpy as np
import pytest

import prototxt
from geeps_caffe.config.job import RunSettings
from geeps_caffe.engines.onednn.library import OneDnnMissing
from geeps_caffe.engines.table import open_engine
from geeps_caffe.execution.trainer import Trainer

SOLVER = """base_lr: 0.05 momentum: 0.9 lr_policy: "fixed" iter_size: 3 max_iter: 2
  snapshot_after_train: false
  net_param {
    layer { name: "data" type: "DummyData" top: "data" top: "label" dummy_data_param {
      shape { dim: 2 dim: 256 } shape { dim: 2 }
      data_filler { type: "gaussian" std: 1 } data_filler { type: "constant" } } }
    layer { name: "large" type: "InnerProduct" bottom: "data" top: "large"
      inner_product_param { num_output: 300 weight_filler { type: "xavier" } } }
    layer { name: "loss" type: "SoftmaxWithLoss" bottom: "large" bottom: "label"
      top: "loss" } }"""


def trained(engine):
    solver = prototxt.parse_solver(SOLVER).message
    trainer = Trainer(solver, "", RunSettings(engine=engine, threads=2, seed=2))
    trainer.solve()
    return {key: np.array(trainer.net.param(key)) for key in trainer.net.graph.params}


def test_engines_add_up_alike():
    try:
        open_engine("onednn", 2)
    except OneDnnMissing as missing:
        pytest.skip(str(missing))
    plain = trained("reference")
    assert plain["large/0"].size > 1 << 16
    for key, found in trained("onednn").items():
        np.testing.assert_allclose(found, plain[key], 1e-4, 1e-6, err_msg=key)
