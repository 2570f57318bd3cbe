"""Python layers whose tops outgrow, in forward, the place that was planned for them."""

import sys

import numpy as np
import pytest

import prototxt
from geeps_caffe.caffe import TRAIN, Net
from geeps_caffe.config.job import RunSettings
from geeps_caffe.execution.trainer import Trainer
from geeps_caffe.layers.python_class import PythonLayer
from tests.cuda_double.fixtures import double

__all__ = ["double"]


class Repeat(PythonLayer):
    """Each row as often as `times` says, at first told as one row: as RoIs are."""

    times = 1

    def reshape(self, bottom, top):
        top[0].reshape(1, *bottom[0].shape[1:])

    def forward(self, bottom, top):
        rows = np.repeat(bottom[0].data, self.times, axis=0)
        top[0].reshape(*rows.shape)
        top[0].data[...] = rows

    def backward(self, top, propagate_down, bottom):
        if propagate_down[0]:
            parts = (bottom[0].num, self.times, *bottom[0].shape[1:])
            bottom[0].diff[...] = top[0].diff.reshape(parts).sum(axis=1)


#: Sums 0.5 p, and twice what a convolution with a weight makes of p and in place of it.
LAYERS = """
layer { name: "p" type: "Python" bottom: "x" top: "p" loss_weight: 0.5
  python_param { module: "growing_tops" layer: "Repeat" } }
layer { name: "flat" type: "Flatten" bottom: "p" top: "flat" }
layer { name: "again" type: "Reshape" bottom: "flat" top: "again"
  reshape_param { shape { dim: 0 dim: 3 dim: 1 dim: 1 } } }
layer { name: "conv" type: "Convolution" bottom: "again" top: "conv"
  convolution_param { num_output: 2 kernel_size: 1
    weight_filler { type: "constant" value: 1 } } }
layer { name: "relu" type: "ReLU" bottom: "conv" top: "conv" }
layer { name: "both" type: "Eltwise" bottom: "conv" bottom: "conv" top: "both" }
layer { name: "sum" type: "Reduction" bottom: "both" top: "sum" loss_weight: 1 }
"""
INPUT = """force_backward: true
layer { name: "in" type: "Input" top: "x"
  input_param { shape { dim: 2 dim: 3 dim: 1 dim: 1 } } }
"""
SOURCE = """layer { name: "in" type: "DummyData" top: "x" dummy_data_param {
  shape { dim: 2 dim: 3 dim: 1 dim: 1 } data_filler { type: "constant" value: 1 } } }
"""


@pytest.fixture(autouse=True)
def growing_tops(monkeypatch):
    monkeypatch.setitem(sys.modules, "growing_tops", sys.modules[__name__])


def check_by_hand(folder, engine):
    """x is k, each row k times: sums over 2 k rows of 3 numbers, 2 outputs, twice."""
    (folder / "net.prototxt").write_text(INPUT + LAYERS)
    net = Net(str(folder / "net.prototxt"), TRAIN, engine=engine)
    for k in (1, 3, 2, 7, 7, 1):
        net.layers[1].times = k
        net.blobs["x"].data[...] = k
        found = net.forward()
        assert found["sum"] == 2 * k * 2 * 2 * 3 * k
        np.testing.assert_array_equal(net.blobs["p"].data, np.full((2 * k, 3, 1, 1), k))
        assert net.blobs["both"].data.shape == (2 * k, 2, 1, 1)
        net.clear_param_diffs()
        net.backward()
        np.testing.assert_array_equal(net.blobs["x"].diff.ravel(), [4.5 * k] * 6)
        weights = net.params["conv"][0].diff
        np.testing.assert_array_equal(weights.ravel(), [2 * 2 * k * k] * 6)


@pytest.mark.parametrize("engine", ["reference", "onednn"])
def test_what_lies_behind_runs_on_all_rows(tmp_path, engine):
    check_by_hand(tmp_path, engine)


@pytest.mark.usefixtures("double")
def test_so_it_does_on_a_gpu(tmp_path):
    check_by_hand(tmp_path, "cuda")


@pytest.mark.parametrize("more", [{}, {"memory": 256}], ids=["all", "swapped"])
def test_training_goes_on_when_a_top_grows(more):
    solver = prototxt.parse_solver(
        f'base_lr: 0.001 lr_policy: "fixed" iter_size: 2 debug_info: true '
        f"net_param {{ {SOURCE + LAYERS} }}"
    ).message
    trainer = Trainer(solver, "", RunSettings(seed=1, **more))
    layer = trainer.net.graph.nodes[1].layer.user
    wanted = 1.0
    for k in (2, 5, 3):
        layer.times = k
        trainer.step(1)
        wanted -= 0.001 * 2 * 2 * k
        np.testing.assert_allclose(trainer.net.param("conv/0"), wanted, 1e-5)
