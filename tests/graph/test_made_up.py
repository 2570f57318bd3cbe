import pytest

import prototxt
from geeps_caffe.graph.build import Source, build_graph
from geeps_caffe.graph.filter import NetState
from geeps_caffe.graph.made_up import made_up_values

INPUT = 'layer {{ type: "Input" top: "{0}" input_param {{ shape {{ {1} }} }} }}\n'
SCORES = INPUT.format("s", "dim: 4 dim: 6")
LABELS = INPUT.format("y", "dim: 4")


def filler(text, blob):
    graph = build_graph(Source(prototxt.parse_net(text).message), NetState())
    return made_up_values(graph)[blob]


def reader(kind, *bottoms, more=""):
    read = " ".join(f'bottom: "{name}"' for name in bottoms)
    return f'layer {{ type: "{kind}" {read} top: "t" {more} }}\n'


@pytest.mark.parametrize(
    ("reader", "classes"),
    [
        (reader("SoftmaxWithLoss", "s", "y"), 6),
        (reader("HingeLoss", "s", "y"), 6),
        (reader("MultinomialLogisticLoss", "s", "y"), 6),
        (reader("Accuracy", "s", "y"), 6),
        (reader("BatchReindex", "s", "y"), 4),
        (
            reader("Embed", "y", more="embed_param { num_output: 2 input_dim: 9 }"),
            9,
        ),
    ],
)
def test_class_numbers_are_below_the_number_of_classes(reader, classes):
    found = filler(SCORES + LABELS + reader, "y")
    assert (found.type, found.min) == ("uniform", 0)
    assert classes - 0.001 < found.max < classes


def test_labels_are_followed_through_other_shapes():
    text = INPUT.format("s", "dim: 4 dim: 6 dim: 2") + INPUT.format("y", "dim: 8")
    view = 'layer { type: "Reshape" bottom: "y" top: "z" '
    view += "reshape_param { shape { dim: 4 dim: 2 } } }\n"
    assert 5.9 < filler(text + view + reader("SoftmaxWithLoss", "s", "z"), "y").max < 6


def test_targets_of_probabilities_lie_between_0_and_1():
    text = SCORES + INPUT.format("y", "dim: 4 dim: 6")
    found = filler(text + reader("SigmoidCrossEntropyLoss", "s", "y"), "y")
    assert (found.type, found.min, found.max) == ("uniform", 0, 1)


def test_all_else_is_gaussian():
    assert filler(SCORES, "s").type == "gaussian"
