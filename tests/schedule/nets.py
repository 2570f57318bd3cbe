"""Nets for tests of graphs and plans: from text, from recordings, from the zoo."""

from pathlib import Path

import numpy as np

import prototxt
from geeps_caffe.config.grouping import Grouping
from geeps_caffe.engines.reference.engine import ReferenceEngine
from geeps_caffe.execution.grouping import assign_tables
from geeps_caffe.execution.net import kept_values
from geeps_caffe.graph.build import Source, build_graph
from geeps_caffe.graph.filter import NetState
from geeps_caffe.layers import LAYERS
from geeps_caffe.schedule.compile import compile_program
from geeps_caffe.schedule.passes import NAMES as PASSES
from geeps_caffe.schedule.program import Options

GOLDEN = Path(__file__).parents[1] / "golden"
#: Texts of the nets in the recordings of the real Caffe, by name.
RECORDED = {
    **{p.name: p for p in sorted((GOLDEN / "layers").glob("*.npz"))},
    **{p.name: p for p in sorted((GOLDEN / "solvers").glob("net_*.prototxt"))},
}

LENET = """
name: "LeNet"
layer { name: "mnist" type: "Input" top: "data" top: "label"
  input_param { shape { dim: 4 dim: 1 dim: 28 dim: 28 } shape { dim: 4 } } }
layer { name: "conv1" type: "Convolution" bottom: "data" top: "conv1"
  param { lr_mult: 1 } param { lr_mult: 2 }
  convolution_param { num_output: 6 kernel_size: 5 } }
layer { name: "pool1" type: "Pooling" bottom: "conv1" top: "pool1"
  pooling_param { pool: MAX kernel_size: 2 stride: 2 } }
layer { name: "conv2" type: "Convolution" bottom: "pool1" top: "conv2"
  convolution_param { num_output: 8 kernel_size: 5 } }
layer { name: "pool2" type: "Pooling" bottom: "conv2" top: "pool2"
  pooling_param { pool: MAX kernel_size: 2 stride: 2 } }
layer { name: "ip1" type: "InnerProduct" bottom: "pool2" top: "ip1"
  inner_product_param { num_output: 20 } }
layer { name: "relu1" type: "ReLU" bottom: "ip1" top: "ip1" }
layer { name: "ip2" type: "InnerProduct" bottom: "ip1" top: "ip2"
  inner_product_param { num_output: 10 } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip2" bottom: "label"
  top: "loss" }
"""

#: The smallest net that learns.
TINY = """
layer { name: "in" type: "Input" top: "data" top: "label"
  input_param { shape { dim: 2 dim: 3 } shape { dim: 2 dim: 4 } } }
layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip"
  inner_product_param { num_output: 4 } }
layer { name: "relu" type: "ReLU" bottom: "ip" top: "ip" }
layer { name: "loss" type: "EuclideanLoss" bottom: "ip" bottom: "label" top: "loss" }
"""


def recorded_text(name):
    """The net of a recording; sources that need files are replaced by Inputs."""
    path = RECORDED[name]
    return path.read_text() if path.suffix != ".npz" else str(np.load(path)["prototxt"])


def recorded_phase(name):
    return str(np.load(RECORDED[name])["phase"]) if name.endswith(".npz") else "TRAIN"


def graph_of(text, phase="TRAIN", path="net.prototxt"):
    """The graph of a net's text."""
    document = prototxt.parse_net(text, path)
    source = Source(document.message, document.path, document.layer_lines)
    return build_graph(source, NetState(phase))


def program_of(graph, engine=None, tables=True, layouts=None, **options):
    """The program of one iteration over a graph; without passes unless asked for."""
    kept = kept_values(graph)
    backward = any(node.needs_backward for node in graph.nodes)
    usual = {"keep": kept, "backward": backward, "without": frozenset(PASSES)}
    chosen = Options(**(usual | options))
    table_of = assign_tables(graph, Grouping(layers=1)) if tables and backward else {}
    return compile_program(
        graph, engine or ReferenceEngine(), chosen, table_of, layouts
    )


def without_sources(message, shapes):
    """The net with each data layer replaced by an Input of the same tops."""
    for layer in message.layer:
        known = LAYERS.get(layer.type)
        source = known is not None and known.is_source and layer.type != "Input"
        if source or (layer.type not in LAYERS and not layer.bottom):
            tops, name = list(layer.top), layer.name
            include = list(layer.include)
            layer.Clear()
            layer.name, layer.type = name, "Input"
            layer.include.extend(include)
            layer.top.extend(tops)
            for shape in shapes[: len(tops)]:
                layer.input_param.shape.add().dim.extend(shape)
    return message
