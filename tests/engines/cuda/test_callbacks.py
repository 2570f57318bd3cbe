"""Updates that Python asks for are made on the queue of computing, as others are."""

import numpy as np
import pytest

from geeps_caffe.caffe import get_solver
from geeps_caffe.config.job import RunSettings
from tests.cuda_double.fixtures import double

__all__ = ["double"]

NET = """
layer { name: "x" type: "Input" top: "x" top: "label"
  input_param { shape { dim: 4 dim: 3 } shape { dim: 4 } } }
layer { name: "ip" type: "InnerProduct" bottom: "x" top: "ip"
  inner_product_param { num_output: 5 weight_filler { type: "xavier" } } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" }
"""
SOLVER = 'base_lr: 0.1 momentum: 0.9 lr_policy: "fixed" random_seed: 3 net: "net"'


def by_callbacks(solver):
    solver.add_callback(lambda: None, lambda: None)
    solver.step(2)


def by_hand(solver):
    for _ in range(2):
        solver.net.clear_param_diffs()
        solver.net.forward()
        solver.net.backward()
        solver.apply_update()


def trained(engine, train):
    solver = get_solver("solver", RunSettings(engine=engine, keep_all=True))
    solver.net.blobs["x"].data[...] = np.arange(12).reshape(4, 3) / 10
    solver.net.blobs["label"].data[...] = [0, 1, 2, 4]
    train(solver)
    return [blob.data.copy() for blob in solver.net.params["ip"]]


@pytest.mark.parametrize("train", [by_callbacks, by_hand])
@pytest.mark.usefixtures("double")
def test_updates_by_python_are_in_order(tmp_path, monkeypatch, train):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "net").write_text(NET)
    (tmp_path / "solver").write_text(SOLVER)
    wanted = trained("reference", lambda solver: solver.step(2))
    for mine, right in zip(trained("cuda", train), wanted, strict=True):
        np.testing.assert_allclose(mine, right, 1e-5, 1e-6)
