"""Any number of workers trains a small net to the bits of one, in single precision."""

import numpy as np
import pytest

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
  inner_product_param { num_output: 20 weight_filler { type: "xavier" } } }
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
