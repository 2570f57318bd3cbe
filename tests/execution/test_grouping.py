import pytest

from geeps_caffe.config.grouping import Grouping
from geeps_caffe.execution.grouping import SINGLE, assign_tables
from geeps_caffe.graph.build import Source, build_graph
from geeps_caffe.graph.filter import NetState
from prototxt import parse_net

#: Layers of 40, 220, 220 and 80 bytes; the last but one learns nothing.
NET = """
layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 1 dim: 4 } } }
layer { name: "a" type: "InnerProduct" bottom: "data" top: "a"
  inner_product_param { num_output: 2 } }
layer { name: "b" type: "InnerProduct" bottom: "a" top: "b"
  inner_product_param { num_output: 18 } }
layer { name: "frozen" type: "InnerProduct" bottom: "b" top: "frozen"
  param { lr_mult: 0 } param { lr_mult: 0 } inner_product_param { num_output: 3 } }
layer { name: "c" type: "InnerProduct" bottom: "frozen" top: "c"
  param { lr_mult: 1 } param { lr_mult: 0 } inner_product_param { num_output: 5 } }
layer { name: "bn" type: "BatchNorm" bottom: "c" top: "c" }
layer { name: "loss" type: "EuclideanLoss" bottom: "c" bottom: "target" }
"""


@pytest.fixture
def graph():
    target = 'layer { name: "t" type: "Input" top: "target" '
    target += "input_param { shape { dim: 1 dim: 5 } } }"
    net = parse_net(target + NET, "net").message
    return build_graph(Source(net), NetState())


@pytest.mark.parametrize(
    ("grouping", "tables"),
    [
        (None, ["a..c"]),
        (Grouping(bucket=1), ["a", "b", "c"]),
        (Grouping(bucket=300), ["a..b", "c"]),
        (Grouping(layers=1), ["a", "b", "c"]),
        (Grouping(layers=2), ["a..b", "c"]),
        (Grouping(single=True), [SINGLE]),
    ],
)
def test_layers_that_follow_each_other_share_tables(graph, grouping, tables):
    found = assign_tables(graph, grouping)
    assert list(dict.fromkeys(found.values())) == tables
    assert list(found) == ["a/0", "a/1", "b/0", "b/1", "c/0", "c/1"]
