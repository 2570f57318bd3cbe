"""The models of this repository: they build, and LeNet is the stock one."""

import math
from pathlib import Path

import pytest

from geeps_caffe.graph.build import Source, build_graph
from geeps_caffe.graph.filter import NetState
from prototxt import read_net, read_solver

ROOT = Path(__file__).parents[1]
LENET = ROOT / "models" / "lenet"
RATES = ("base_lr", "momentum", "weight_decay", "lr_policy", "gamma", "power")


def layers(path):
    """The layers without names of data, as messages."""
    found = []
    for layer in read_net(path).message.layer:
        layer.ClearField("data_param")
        if layer.type == "Convolution":  # the stock file writes the default out
            layer.convolution_param.ClearField("stride")
        found.append(layer)
    return found


@pytest.mark.parametrize(
    "readme", sorted((ROOT / "models").glob("*/README.md")), ids=lambda p: p.parent.name
)
def test_every_model_has_its_files(readme):
    for name in ("train_val.prototxt", "solver.prototxt"):
        assert (readme.parent / name).is_file()


def test_lenet_is_the_stock_net(corpus):
    stock = corpus / "zoo" / "BVLC__caffe" / "examples" / "mnist"
    assert layers(LENET / "train_val.prototxt") == layers(
        stock / "lenet_train_test.prototxt"
    )
    ours = read_solver(LENET / "solver.prototxt").message
    theirs = read_solver(stock / "lenet_solver.prototxt").message
    for name in RATES:
        assert getattr(ours, name) == getattr(theirs, name)
    batches = [
        layer.data_param.batch_size
        for layer in read_net(LENET / "train_val.prototxt").message.layer
        if layer.type == "Data"
    ]
    assert batches == [64, 100]


def test_lenet_for_use_has_the_layers_that_are_trained():
    def learned(name):
        net = read_net(LENET / name).message
        return [layer for layer in net.layer if layer.param]

    assert learned("deploy.prototxt") == learned("train_val.prototxt")
    document = read_net(LENET / "deploy.prototxt")
    graph = build_graph(Source(document.message), NetState("TEST"))
    assert graph.outputs == ("prob",)
    assert graph.last_value("prob").shape == (64, 10)
    sizes = [math.prod(param.shape) for param in graph.params.values()]
    assert sum(sizes) == 431080
