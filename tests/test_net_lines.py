from geeps_caffe.graph.build import Source, build_graph
from geeps_caffe.graph.filter import NetState
from geeps_caffe.net_lines import net_lines, rule_lines, shape_text, state_message
from prototxt import LayerParameter, parse_net

NET = """
name: "small"
layer { name: "in" type: "DummyData" top: "x" top: "t"
  dummy_data_param { shape { dim: 2 dim: 3 } shape { dim: 2 dim: 4 } } }
layer { name: "ip" type: "InnerProduct" bottom: "x" top: "y" param { name: "w" }
  inner_product_param { num_output: 4 bias_term: false } }
layer { name: "relu" type: "ReLU" bottom: "y" top: "y" }
layer { name: "test" type: "Silence" bottom: "y" include { phase: TEST } }
layer { name: "loss" type: "EuclideanLoss" bottom: "y" bottom: "t"
  loss_weight: 0.5 }
"""


def lines_for(text, phase="TRAIN"):
    message = parse_net(text).message
    graph = build_graph(Source(message), NetState(phase))
    return [line.text for line in net_lines(message, state_message(phase), graph)]


def test_a_net_is_told_layer_by_layer():
    lines = lines_for(NET)
    assert lines[0] == (
        "The NetState phase (0) differed from the phase (1) specified by a rule in "
        "layer test"
    )
    head, _, text = lines[1].partition("\n")
    assert head == "Initializing net from parameters: "
    assert text.startswith('name: "small"\nstate {\n  phase: TRAIN\n}\nlayer {\n')
    assert "Silence" not in text
    assert lines[2:] == [
        "Creating layer in",
        "Creating Layer in",
        "in -> x",
        "in -> t",
        "Setting up in",
        "Top shape: 2 3 (6)",
        "Top shape: 2 4 (8)",
        "Memory required for data: 56",
        "Creating layer ip",
        "Creating Layer ip",
        "ip <- x",
        "ip -> y",
        "Setting up ip",
        "Top shape: 2 4 (8)",
        "Memory required for data: 88",
        "Creating layer relu",
        "Creating Layer relu",
        "relu <- y",
        "relu -> y (in-place)",
        "Setting up relu",
        "Top shape: 2 4 (8)",
        "Memory required for data: 120",
        "Creating layer loss",
        "Creating Layer loss",
        "loss <- y",
        "loss <- t",
        "loss -> (automatic)",
        "Setting up loss",
        "Top shape: (1)",
        "    with loss weight 0.5",
        "Memory required for data: 124",
        "loss needs backward computation.",
        "relu needs backward computation.",
        "ip needs backward computation.",
        "in does not need backward computation.",
        "Network initialization done.",
    ]


def test_outputs_are_told_in_the_order_of_their_names():
    net = """
    layer { name: "b" type: "DummyData" top: "zebra"
      dummy_data_param { shape { dim: 1 } } }
    layer { name: "a" type: "DummyData" top: "ape"
      dummy_data_param { shape { dim: 1 } } }
    """
    told = [line for line in lines_for(net) if "output" in line]
    assert told == [
        "This network produces output ape",
        "This network produces output zebra",
    ]


def test_a_softmax_inside_of_a_loss_is_told():
    net = """
    layer { name: "in" type: "DummyData" top: "x" top: "t"
      dummy_data_param { shape { dim: 2 dim: 3 } shape { dim: 2 } } }
    layer { name: "loss" type: "SoftmaxWithLoss" bottom: "x" bottom: "t" top: "loss" }
    """
    lines = lines_for(net)
    end = lines.index("loss -> loss")
    assert lines[end + 1 : end + 3] == ["Creating layer loss", "Setting up loss"]


def test_shared_params_are_told_with_their_owner():
    net = """
    layer { name: "in" type: "DummyData" top: "x"
      dummy_data_param { shape { dim: 2 dim: 3 } } }
    layer { name: "a" type: "InnerProduct" bottom: "x" top: "y" param { name: "w" }
      inner_product_param { num_output: 3 bias_term: false } }
    layer { name: "b" type: "InnerProduct" bottom: "y" top: "z" param { name: "w" }
      inner_product_param { num_output: 3 bias_term: false } }
    """
    told = [line for line in lines_for(net) if line.startswith("Sharing")]
    assert told == ["Sharing parameters 'w' owned by layer 'a', param index 0"]


def broken(rule, **state):
    layer = LayerParameter(name="x", **rule)
    return [line.text for line in rule_lines(layer, NetState(**state))]


def test_each_condition_of_a_rule_has_its_words():
    end = "specified by a rule in layer x"
    assert broken({"include": [{"min_level": 2}]}, level=1) == [
        f"The NetState level (1) is above the min_level (2) {end}"
    ]
    assert broken({"include": [{"max_level": 0}]}, level=1) == [
        f"The NetState level (1) is above the max_level (0) {end}"
    ]
    assert broken({"include": [{"stage": ["deploy"]}]}) == [
        f"The NetState did not contain stage 'deploy' {end}"
    ]
    assert broken({"exclude": [{"not_stage": ["a"]}]}, stages=("a",)) == [
        f"The NetState contained a not_stage 'a' {end}"
    ]


def test_rules_behind_the_one_that_holds_are_not_looked_at():
    rules = {"include": [{"phase": 0}, {"phase": 1}]}
    assert broken(rules) == []
    assert len(broken(rules, phase="TEST")) == 1


def test_the_state_merges_messages_as_caffe_does():
    state = state_message(
        "TRAIN", parse_net("state { level: 2 stage: 'a' }").message.state
    )
    assert (state.phase, state.level, list(state.stage)) == (0, 2, ["a"])


def test_a_scalar_has_no_extents():
    assert shape_text(()) == "(1)"
