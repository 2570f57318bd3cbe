"""The nets that travel are those of the zoo, but for fillers and names."""

from collections import Counter

import pytest

from benchmarks.gpu_nets import SIZES, message_of
from benchmarks.models import MODELS, read_model
from benchmarks.net_texts import NETS
from geeps_caffe.graph.build import Source, build_graph
from geeps_caffe.graph.filter import NetState


def kinds(message):
    """Layers by type, params by shape, and values by shape."""
    graph = build_graph(Source(message), NetState("TRAIN"))
    return (
        Counter(node.type for node in graph.nodes),
        Counter(param.shape for param in graph.params.values()),
        Counter(value.shape for value in graph.values.values()),
    )


@pytest.mark.parametrize("name", NETS)
def test_layers_params_and_values_are_those_of_the_zoo(name, corpus):
    assert kinds(message_of(name, SIZES[name])) == kinds(
        read_model(MODELS[name], corpus)
    )


def test_adamlike_has_the_papers_params():
    graph = build_graph(
        Source(message_of("adamlike", SIZES["adamlike"])), NetState("TRAIN")
    )
    sizes = [param.shape for param in graph.params.values()]
    total = 0
    for shape in sizes:
        count = 1
        for extent in shape:
            count *= extent
        total += count
    assert total == 118_577_686
