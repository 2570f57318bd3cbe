import pytest

import prototxt
from geeps_caffe.errors import GraphError
from geeps_caffe.graph.build import Source, build_graph
from geeps_caffe.graph.filter import NetState
from geeps_caffe.graph.forks import FORKS
from geeps_caffe.layers import LAYERS


def build(type_name):
    text = f'layer {{ name: "x" type: "{type_name}" top: "t" }}'
    document = prototxt.parse_net(text, "net.prototxt")
    source = Source(document.message, document.path, document.layer_lines)
    return build_graph(source, NetState())


def test_a_forks_layer_is_named_with_its_fork():
    with pytest.raises(GraphError, match=r"net.prototxt:1: type 'PriorBox'.*SSD"):
        build("PriorBox")


def test_a_slip_is_answered_with_the_nearest_type():
    with pytest.raises(GraphError, match="did you mean 'ReLU'"):
        build("Relu")


def test_no_type_of_ours_is_called_a_forks():
    assert not {t for types in FORKS.values() for t in types} & set(LAYERS)
