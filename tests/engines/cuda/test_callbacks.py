"""Updates that Python asks for are made on the queue of computing, as others are."""

import numpy as np
import pytest

from geeps_caffe.caffe import get_solver
from geeps_caffe.config.job import RunSettings
from geeps_caffe.config.param_cache import ParamCache
from geeps_caffe.errors import UsageError
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


def trained(engine, train, cache=None):
    settings = RunSettings(engine=engine, keep_all=True, param_cache=cache)
    solver = get_solver("solver", settings)
    solver.net.blobs["x"].data[...] = np.arange(12).reshape(4, 3) / 10
    solver.net.blobs["label"].data[...] = [0, 1, 2, 4]
    train(solver)
    return [blob.data.copy() for blob in solver.net.params["ip"]]


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch, double):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "net").write_text(NET)
    (tmp_path / "solver").write_text(SOLVER)


CACHES = [ParamCache("swapped"), ParamCache("pinned")]


@pytest.mark.parametrize(
    ("train", "cache"),
    [(by_hand, None), (by_callbacks, None), *((by_callbacks, c) for c in CACHES)],
)
def test_updates_by_python_are_in_order(train, cache):
    wanted = trained("reference", lambda solver: solver.step(2))
    for mine, right in zip(trained("cuda", train, cache), wanted, strict=True):
        np.testing.assert_allclose(mine, right, 1e-5, 1e-6)


@pytest.mark.parametrize("cache", CACHES)
def test_a_part_of_a_net_does_not_run_where_arrays_are_swapped_out(cache):
    with pytest.raises(UsageError, match="by hand need all arrays in place"):
        trained("cuda", by_hand, cache)
