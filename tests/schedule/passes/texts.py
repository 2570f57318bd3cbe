"""Programs as text, before and after a pass."""

from geeps_caffe.schedule.passes import NAMES
from tests.schedule.nets import graph_of, program_of

INPUT = """
layer { name: "in" type: "Input" top: "data" top: "label"
  input_param { shape { dim: 2 dim: 3 dim: 6 dim: 6 } shape { dim: 2 } } }
"""
CONVOLUTION = """
layer { name: "conv" type: "Convolution" bottom: "data" top: "conv"
  convolution_param { num_output: 4 kernel_size: 3 } }
"""
LOSS = """
layer { name: "ip" type: "InnerProduct" bottom: "conv" top: "ip"
  inner_product_param { num_output: 5 } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" }
"""


def relu(name, bottom, top=None):
    blobs = f'bottom: "{bottom}" top: "{top or bottom}"'
    return f'layer {{ name: "{name}" type: "ReLU" {blobs} }}'


def lines(text, only, phase="TRAIN", engine=None, **options):
    """The instructions of a net's program with one pass, without tables' calls."""
    without = frozenset(NAMES) - {only}
    options = {"without": without} | options
    program = program_of(graph_of(text, phase), engine, tables=False, **options)
    return [i.text.split(" [")[0] for i in program.instructions]
