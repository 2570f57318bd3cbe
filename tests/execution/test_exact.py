"""Any number of workers trains a small net to the bits of one, in single precision."""

import numpy as np
import pytest

from geeps_caffe.caffe import TRAIN, Net, set_engine
from geeps_caffe.config.job import RunSettings
from tests.end_to_end.digits import make_database
from tests.execution.recordings import inside
from tests.execution.workers import train, train_alone

NET = """
name: "small"
layer { name: "data" type: "Data" top: "data" top: "label"
  transform_param { scale: 0.00390625 }
  data_param { source: "digits" backend: LMDB batch_size: BATCH } }
layer { name: "conv1" type: "Convolution" bottom: "data" top: "conv1"
  convolution_param { num_output: 6 kernel_size: 3 weight_filler { type: "xavier" } } }
layer { name: "pool1" type: "Pooling" bottom: "conv1" top: "pool1"
  pooling_param { pool: MAX kernel_size: 2 stride: 2 } }
layer { name: "relu1" type: "ReLU" bottom: "pool1" top: "pool1" }
layer { name: "conv2" type: "Convolution" bottom: "pool1" top: "conv2"
  convolution_param { num_output: 8 kernel_size: 3 weight_filler { type: "xavier" } } }
layer { name: "ip1" type: "InnerProduct" bottom: "conv2" top: "ip1"
  inner_product_param { num_output: 80 weight_filler { type: "xavier" } } }
layer { name: "drop1" type: "Dropout" bottom: "ip1" top: "ip1" }
layer { name: "ip2" type: "InnerProduct" bottom: "ip1" top: "ip2"
  inner_product_param { num_output: 10 weight_filler { type: "xavier" } } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip2" bottom: "label" top: "loss" }
"""
SOLVERS = {
    "SGD": "momentum: 0.9 weight_decay: 0.0005",
    "iter_size": "momentum: 0.9 iter_size: 2",
    "clipped": "momentum: 0.9 clip_gradients: 0.5",
    "Nesterov": 'type: "Nesterov" momentum: 0.9',
    "AdaGrad": 'type: "AdaGrad"',
    "RMSProp": 'type: "RMSProp" rms_decay: 0.98',
    "AdaDelta": 'type: "AdaDelta" momentum: 0.95 delta: 1e-6',
    "Adam": 'type: "Adam" momentum: 0.9 momentum2: 0.999',
}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with a database of random digits."""
    folder = tmp_path_factory.mktemp("exact")
    make_database(folder / "digits", 320, np.random.default_rng(7))
    with inside(folder):
        yield folder


def job(folder, batch, more):
    """Files of one worker's job; the solver's path."""
    (folder / "net.prototxt").write_text(NET.replace("BATCH", str(batch)))
    fields = 'net: "net.prototxt" base_lr: 0.05 lr_policy: "fixed" max_iter: 8 '
    (folder / "solver.prototxt").write_text(fields + more)
    return "solver.prototxt"


def settings(engine, mode):
    """Of all ranks; one process has two threads, each of several has one."""

    def of(rank, ranks):
        threads = 2 if ranks == 1 else 1
        return RunSettings(
            engine=engine,
            threads=threads,
            seed=3,
            rank=rank,
            ranks=ranks,
            batch_mode=mode,
        )

    return of


def eight_steps(trainer):
    trainer.step(8)


def check_same(one, other):
    for key, values in one.items():
        np.testing.assert_array_equal(other[key], values, key)


@pytest.mark.parametrize("more", SOLVERS.values(), ids=SOLVERS)
@pytest.mark.parametrize("engine", ["reference", "onednn"])
def test_two_workers_are_one_of_twice_the_batch(place, engine, more):
    wanted = train_alone(
        job(place, 50, more), settings(engine, "per-worker"), eight_steps
    )
    found = train(job(place, 25, more), settings(engine, "per-worker"), 2, eight_steps)
    check_same(wanted, found)


@pytest.mark.parametrize("workers", [4, 8])
def test_more_workers_share_the_batch_of_one(place, workers):
    solver = job(place, 128, SOLVERS["SGD"])
    wanted = train_alone(solver, settings("onednn", "global"), eight_steps)
    check_same(
        wanted, train(solver, settings("onednn", "global"), workers, eight_steps)
    )


SHARED = """
name: "shared"
layer { name: "data" type: "DummyData" top: "a" top: "b" top: "wanted"
  dummy_data_param { shape { dim: 64 dim: 30 } shape { dim: 64 dim: 30 }
    shape { dim: 64 dim: 20 } data_filler { type: "gaussian" } } }
layer { name: "one" type: "InnerProduct" bottom: "a" top: "one"
  param { name: "w" } param { name: "b" }
  inner_product_param { num_output: 20 weight_filler { type: "xavier" } } }
layer { name: "two" type: "InnerProduct" bottom: "b" top: "two"
  param { name: "w" } param { name: "b" }
  inner_product_param { num_output: 20 weight_filler { type: "xavier" } } }
layer { name: "sum" type: "Eltwise" bottom: "one" bottom: "two" top: "sum" }
layer { name: "loss" type: "EuclideanLoss" bottom: "sum" bottom: "wanted" top: "loss" }
"""


@pytest.mark.parametrize("engine", ["reference", "onednn"])
def test_shared_params_have_the_gradient_of_the_whole_batch(tmp_path, engine):
    """They are not made in parts: a part's gradient must not pass for the sum."""
    path = tmp_path / "net.prototxt"
    path.write_text(SHARED)
    set_engine(engine)
    net = Net(str(path), TRAIN)
    set_engine(None)
    net.forward()
    net.backward()
    inputs = np.concatenate([net.blobs["a"].data, net.blobs["b"].data])
    diffs = np.concatenate([net.blobs["one"].diff, net.blobs["two"].diff])
    weights, bias = net.params["one"]
    np.testing.assert_allclose(weights.diff, diffs.T @ inputs, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(bias.diff, diffs.sum(axis=0), rtol=1e-4, atol=1e-5)
