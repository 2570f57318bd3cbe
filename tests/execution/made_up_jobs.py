"""Solvers on made-up data: nets of the corpus without their databases."""

import numpy as np

import prototxt
from geeps_caffe.execution.trainer import Trainer
from geeps_caffe.graph.build import Source
from geeps_caffe.graph.filter import NetState
from geeps_caffe.graph.override import MadeUp, replace_data_layers

LSTM = """
layer { name: "in" type: "DummyData" top: "data" top: "cont" top: "label"
  dummy_data_param {
    shape { dim: 5 dim: 2 dim: 6 } shape { dim: 5 dim: 2 } shape { dim: 5 dim: 2 }
    data_filler { type: "gaussian" } data_filler { type: "constant" value: 1 }
    data_filler { type: "uniform" min: 0 max: 3.9 } } }
layer { name: "lstm1" type: "LSTM" bottom: "data" bottom: "cont" top: "lstm1"
  recurrent_param { num_output: 8
    weight_filler { type: "uniform" min: -0.1 max: 0.1 } } }
layer { name: "lstm2" type: "LSTM" bottom: "lstm1" bottom: "cont" top: "lstm2"
  recurrent_param { num_output: 8
    weight_filler { type: "uniform" min: -0.1 max: 0.1 } } }
layer { name: "ip" type: "InnerProduct" bottom: "lstm2" top: "ip"
  inner_product_param { num_output: 4 axis: 2 weight_filler { type: "xavier" } } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label"
  top: "loss" softmax_param { axis: 2 } }
"""


def read_net(path):
    document = prototxt.read_net(str(path))
    return Source(document.message, document.path, document.layer_lines)


def parsed_net(text):
    document = prototxt.parse_net(text, "net.prototxt")
    return Source(document.message, document.path, document.layer_lines)


def without_data(source, batch, **records):
    """The net on made-up records."""
    for phase in ("TRAIN", "TEST"):
        source = replace_data_layers(source, NetState(phase), MadeUp(records, batch))
    return source


def solver_text(source, more=""):
    """A solver's text with the net inside."""
    return (
        f"net_param {{ {source.message} }} base_lr: 0.01 lr_policy: 'fixed' "
        f"momentum: 0.9 weight_decay: 0.0005 random_seed: 1 max_iter: 1000 {more}"
    )


def solve(source, settings, steps, more=""):
    """The weights after some steps, by key, and the training net's plan."""
    document = prototxt.parse_solver(solver_text(source, more), "solver.prototxt")
    trainer = Trainer(document.message, "solver.prototxt", settings, document=document)
    trainer.step(steps)
    net = trainer.net
    weights = {key: np.array(net.param(key)) for key in net.graph.params}
    plan = net.executor.plan
    trainer.close()
    return weights, plan
