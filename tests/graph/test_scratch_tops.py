import pytest

import prototxt
from geeps_caffe.errors import LayerError
from geeps_caffe.graph.build import Source, build_graph
from geeps_caffe.graph.filter import NetState

INPUT = 'layer { name: "x" type: "Input" top: "x" input_param { shape { %s } } } '
SHAPE = "dim: 2 dim: 3 dim: 4 dim: 4"


def graph(text):
    return build_graph(
        Source(prototxt.parse_net(INPUT % SHAPE + text).message), NetState()
    )


def tops(text):
    return [node.tops for node in graph(text).nodes][1:]


def test_scratch_memory_of_geeps_is_no_top():
    assert tops('layer { type: "LRN" bottom: "x" top: "n" top: "temp1" }') == [("n",)]
    text = 'layer { type: "BatchNorm" bottom: "x" top: "b" top: "t1" top: "t2" }'
    assert tops(text) == [("b",)]


@pytest.mark.parametrize(
    "more",
    [
        'layer { type: "LRN" bottom: "x" top: "n" top: "temp1" loss_weight: [1, 1] }',
        'layer { type: "LRN" bottom: "x" top: "n" top: "temp1" }'
        'layer { type: "ReLU" bottom: "temp1" top: "y" }',
    ],
    ids=["a loss", "read"],
)
def test_a_top_that_something_is_done_with_is_no_scratch_memory(more):
    with pytest.raises(LayerError, match="2 top blobs; it takes exactly 1"):
        graph(more)


def test_the_mask_of_a_maximum_stays():
    pool = "pooling_param { pool: MAX kernel_size: 2 }"
    text = f'layer {{ type: "Pooling" bottom: "x" top: "p" top: "m" {pool} }}'
    assert tops(text) == [("p", "m")]
