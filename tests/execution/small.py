"""A small solver on a small database, and trainers whose reports are kept."""

import numpy as np

import prototxt
from geeps_caffe.config.job import RunSettings
from geeps_caffe.data.datum import write_datum
from geeps_caffe.execution.trainer import Trainer
from tests.data.databases import make_database

NET = """
name: "small"
layer { name: "data" type: "Data" top: "data" top: "label"
  transform_param { scale: 0.00390625 }
  data_param { source: "db" batch_size: 2 backend: LMDB } }
layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip"
  inner_product_param { num_output: 10 weight_filler { type: "xavier" } } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" }
"""
SOLVER = 'net: "net.prototxt" base_lr: 0.1 lr_policy: "fixed" momentum: 0.9\n'


def make_place(folder, net=NET, records=10):
    """A folder with net.prototxt, and db: one image for each of so many labels."""
    rng = np.random.default_rng(7)
    images = rng.integers(0, 256, (records, 1, 3, 3)).astype(np.uint8)
    make_database(folder / "db", [write_datum(im, n) for n, im in enumerate(images)])
    (folder / "net.prototxt").write_text(net)


class Run:
    """A trainer on solver text; `told` is what it has reported.

    Use it in the folder of `make_place`.
    """

    def __init__(self, text, **more):
        document = prototxt.parse_solver(SOLVER + text, "solver.prototxt")
        self.told = []
        self.trainer = Trainer(
            document.message,
            "solver.prototxt",
            more.pop("settings", RunSettings(seed=1, threads=1)),
            self.told.append,
            document=document,
            **more,
        )

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.trainer.close()

    def of(self, *kinds):
        """The reports of these kinds, by class."""
        return [report for report in self.told if isinstance(report, kinds)]

    def weights(self):
        """Copies of all params, by key."""
        net = self.trainer.net
        return {key: np.array(net.param(key)) for key in net.graph.params}

    def labels(self, steps):
        """Do so many steps; returns the labels of each."""
        found = []
        for _ in range(steps):
            self.trainer.step(1)
            net = self.trainer.net
            label = net.graph.last_value("label").name
            found.append([int(v) for v in net.executor.value(label)])
        return found


def same_weights(one, other):
    """Bit for bit."""
    return one.keys() == other.keys() and all(
        np.array_equal(one[key], other[key]) for key in one
    )
