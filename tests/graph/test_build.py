import pytest

from geeps_caffe.errors import GraphError, LayerError
from geeps_caffe.graph.build import reshape_graph
from tests.schedule.nets import LENET, TINY, graph_of

INPUT = """layer { name: "in" type: "Input" top: "data"
  input_param { shape { dim: 2 dim: 3 } } }
"""


def refused(text, kind=GraphError):
    with pytest.raises(kind) as error:
        graph_of(text)
    return str(error.value)


def test_shapes_follow_from_the_inputs():
    shapes = {v.name: v.shape for v in graph_of(LENET).values.values()}
    assert shapes["conv1"] == (4, 6, 24, 24)
    assert shapes["pool1"] == (4, 6, 12, 12)
    assert shapes["pool2"] == (4, 8, 4, 4)
    assert shapes["ip2"] == (4, 10)
    assert shapes["loss"] == ()


def test_inputs_and_outputs():
    graph = graph_of(TINY)
    assert graph.inputs == ("data", "label")
    assert graph.outputs == ("loss",)


def test_a_top_that_nobody_reads_is_an_output():
    text = INPUT + 'layer { name: "a" type: "ReLU" bottom: "data" top: "a" }'
    assert graph_of(text + text.split("\n")[2].replace('"a"', '"b"')).outputs == (
        "a",
        "b",
    )


# -- in place ------------------------------------------------------------------


def test_a_blob_that_changes_in_place_has_a_value_for_each_state():
    text = INPUT + "".join(
        f'layer {{ name: "{n}" type: "ReLU" bottom: "data" top: "data" }}\n'
        for n in "abc"
    )
    graph = graph_of(text)
    assert list(graph.values) == ["data", "data#1", "data#2", "data#3"]
    assert [n.bottoms for n in graph.nodes[1:]] == [("data",), ("data#1",), ("data#2",)]
    assert all(n.in_place for n in graph.nodes[1:])
    assert graph.blobs == ("data",)
    assert graph.first_value("data").name == "data"
    assert graph.last_value("data").name == "data#3"


def test_a_layer_beside_its_bottom_is_not_in_place():
    nodes = graph_of(TINY).nodes
    assert [n.name for n in nodes if n.in_place] == ["relu"]


def test_a_top_that_two_layers_make_is_refused_with_both_places():
    text = INPUT + 'layer { name: "a" type: "ReLU" bottom: "data" top: "x" }\n'
    message = refused(text + text.split("\n")[2].replace('"a"', '"b"'))
    assert "layer 'b' (ReLU) at net.prototxt:4: top blob 'x'" in message
    assert "produced by layer 'a' (ReLU) at net.prototxt:3" in message


def test_in_place_after_another_has_read_the_blob_is_refused():
    text = (
        INPUT
        + """
    layer { name: "a" type: "ReLU" bottom: "data" top: "a" }
    layer { name: "b" type: "TanH" bottom: "data" top: "data" }
    """
    )
    # Both read "data", so each gets a blob of its Split, and "data" is made twice.
    message = refused(text)
    assert "layer 'b' (TanH) at net.prototxt:5: top blob 'data' can't be" in message
    assert "other layers read the 'data' of layer 'in'" in message


# -- what a user can get wrong -------------------------------------------------


def test_an_unknown_layer_type_is_named_with_its_place_and_the_nearest():
    message = refused(
        INPUT + 'layer { name: "a" type: "Relu" bottom: "data" top: "a" }'
    )
    assert "layer 'a' at net.prototxt:3: unknown layer type 'Relu'" in message
    assert "did you mean 'ReLU'?" in message


def test_a_layer_without_a_type_is_said_to_have_none():
    message = refused(INPUT + 'layer { name: "a" bottom: "data" top: "a" }')
    assert "layer 'a' at net.prototxt:3: no type is given; give one" in message


def test_rules_of_both_kinds_are_refused_with_the_place():
    rules = "include { phase: TRAIN } exclude { phase: TEST }"
    message = refused(
        INPUT + f'layer {{ name: "a" type: "ReLU" bottom: "data" top: "a" {rules} }}'
    )
    assert message.startswith("layer 'a' (ReLU) at net.prototxt:3 has include and")


def test_a_bottom_whose_layer_is_left_out_names_that_layer_and_the_state():
    rules = "include { phase: TEST } include { stage: 'deploy' }"
    message = refused(
        INPUT
        + f"""layer {{ name: "a" type: "ReLU" bottom: "data" top: "a" {rules} }}
        layer {{ name: "b" type: "TanH" bottom: "a" top: "b" }}"""
    )
    assert "layer 'b' (TanH) at net.prototxt:4, bottom[0]: unknown bottom" in message
    assert "blob 'a': layer 'a' (ReLU) at net.prototxt:3 would make it" in message
    assert "leave it out here (phase TRAIN, level 0, no stages)" in message


def test_an_unknown_bottom_is_named_with_its_place_and_the_nearest():
    message = refused(INPUT + 'layer { name: "a" type: "ReLU" bottom: "dat" top: "a" }')
    assert "layer 'a' (ReLU) at net.prototxt:3, bottom[0]: unknown bottom" in message
    assert "did you mean 'data'?" in message


@pytest.mark.parametrize(
    ("layer", "fault"),
    [
        ("ReLU: data data -> x", "2 bottom blobs; it takes exactly 1"),
        ("ReLU: -> x", "0 bottom blobs; it takes exactly 1"),
        ("ReLU: data ->", "0 top blobs; it takes exactly 1"),
        ("Concat: -> x", "0 bottom blobs; it takes at least 1"),
        ("Pooling: data -> x y z", "3 top blobs; it takes 1 to 2"),
    ],
)
def test_numbers_of_bottoms_and_tops(layer, fault):
    kind, blobs = layer.split(":")
    bottoms, tops = (side.split() for side in blobs.split("->"))
    words = [f'type: "{kind}"', *(f'bottom: "{b}"' for b in bottoms)]
    words += [f'top: "{t}"' for t in tops]
    message = refused(INPUT + f'layer {{ name: "a" {" ".join(words)} }}', LayerError)
    assert "layer 'a'" in message
    assert "net.prototxt:3" in message
    assert fault in message


def test_loss_weights_are_given_for_each_top():
    text = (
        INPUT
        + """layer { name: "a" type: "Slice" bottom: "data" top: "x" top: "y"
      top: "z" loss_weight: 1 }"""
    )
    assert "1 loss_weight entries for 3 tops" in refused(text, LayerError)


def test_a_loss_weighs_one_where_nothing_is_said():
    assert graph_of(TINY).nodes[-1].loss_weights == (1.0,)


def test_a_loss_without_a_top_gets_one_that_is_no_output():
    graph = graph_of(TINY.replace('top: "loss"', ""))
    assert graph.nodes[-1].tops == ("(automatic)",)
    assert graph.nodes[-1].loss_weights == (1.0,)
    assert graph.outputs == ()


def test_further_losses_without_tops_have_names_of_their_own():
    text = INPUT + "".join(
        f'layer {{ name: "{n}" type: "EuclideanLoss" bottom: "data" bottom: "data" }}'
        for n in "ab"
    )
    names = [node.tops for node in graph_of(text).nodes if node.type[0] == "E"]
    assert names == [("(automatic)",), ("(b:automatic0)",)]


def test_rules_choose_the_layers_of_a_phase():
    text = (
        INPUT
        + """
    layer { name: "a" type: "ReLU" bottom: "data" top: "a" include { phase: TEST } }
    """
    )
    assert [n.name for n in graph_of(text, "TRAIN").nodes] == ["in"]
    assert [n.name for n in graph_of(text, "TEST").nodes] == ["in", "a"]


# -- other shapes --------------------------------------------------------------


def test_other_input_shapes_carry_through():
    inputs = {"data": (7, 1, 28, 28), "label": (7,)}
    graph = reshape_graph(graph_of(LENET), inputs)
    assert graph.values["pool2"].shape == (7, 8, 4, 4)
    assert graph.values["ip2"].shape == (7, 10)


def test_a_top_of_an_earlier_layer_is_no_new_one_beside_others():
    text = (
        INPUT + 'layer { name: "s" type: "Slice" bottom: "data" top: "a" top: "data" }'
    )
    error = refused(text)
    assert "'s' (Slice)" in error
    assert "top blob 'data' is produced by layer 'in' (Input)" in error


def test_learnable_blobs_keep_their_shape():
    prelu = 'layer { name: "p" type: "PReLU" bottom: "data" top: "p" }'
    with pytest.raises(LayerError, match=r"'ip1'.*200 values.*weights are for 128"):
        reshape_graph(graph_of(LENET), {"data": (4, 1, 32, 32), "label": (4,)})
    with pytest.raises(
        GraphError, match=r"'p/0' would have shape .5,., but it has .3,."
    ):
        reshape_graph(graph_of(INPUT + prelu), {"data": (2, 5)})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('name: "n"', "the net has no layers; is this the right file, and whole?"),
        (
            'layer { name: "a" type: "ReLU" include { phase: TEST } }',
            r"no layers in phase TRAIN \(level 0\); .* rules leave all 1 out",
        ),
    ],
)
def test_a_net_without_layers_is_refused(text, said):
    with pytest.raises(GraphError, match=said):
        graph_of(text)
