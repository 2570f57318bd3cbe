import prototxt
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


def test_the_mask_of_a_maximum_stays():
    pool = "pooling_param { pool: MAX kernel_size: 2 }"
    text = f'layer {{ type: "Pooling" bottom: "x" top: "p" top: "m" {pool} }}'
    assert tops(text) == [("p", "m")]
