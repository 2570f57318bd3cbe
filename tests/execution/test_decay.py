"""Blobs that lie under no loss still decay, as every learnable blob of Caffe does."""

import numpy as np
import pytest

import prototxt
from geeps_caffe.caffe import get_solver
from geeps_caffe.config.job import RunSettings
from geeps_caffe.execution.trainer import Trainer

NET = """
layer { name: "d" type: "DummyData" top: "x" top: "y"
  dummy_data_param { shape { dim: 2 dim: 3 } shape { dim: 2 dim: 1 } } }
layer { name: "a" type: "InnerProduct" bottom: "x" top: "a"
  inner_product_param { num_output: 1 } }
layer { name: "b" type: "InnerProduct" bottom: "x" top: "b"
  inner_product_param { num_output: 2 weight_filler { type: "constant" value: 1 } } }
layer { name: "s" type: "Silence" bottom: "b" }
layer { name: "loss" type: "EuclideanLoss" bottom: "a" bottom: "y" top: "loss" }
"""
SOLVER = 'net: "{}" base_lr: 0.1 weight_decay: 0.5 lr_policy: "fixed" iter_size: {}'


@pytest.mark.parametrize("iter_size", [1, 2])
@pytest.mark.parametrize("by_hand", [False, True])
def test_a_branch_without_a_loss_decays(tmp_path, iter_size, by_hand):
    net, solver = tmp_path / "net.prototxt", tmp_path / "solver.prototxt"
    net.write_text(NET)
    solver.write_text(SOLVER.format(net, iter_size))
    settings = RunSettings(engine="reference", seed=1, keep_all=by_hand)
    if by_hand:
        run = get_solver(str(solver), settings)
        run.step(2)
        found = run.net.params["b"][0].data
    else:
        run = Trainer(read(solver), str(solver), settings)
        run.step(2)
        found = run.net.param("b/0")
    np.testing.assert_allclose(found, 0.95**2, rtol=1e-6)


def read(path):
    return prototxt.read_solver(str(path)).message
