import pytest

from geeps_caffe.errors import GraphError
from tests.schedule.nets import graph_of

INPUT = """layer { name: "in" type: "Input" top: "data"
  input_param { shape { dim: 2 dim: 3 } } }
"""


def ip(name, bottom, params="", outputs=3, kind="InnerProduct"):
    return f"""layer {{ name: "{name}" type: "{kind}" bottom: "{bottom}" top: "{name}"
      {params} inner_product_param {{ num_output: {outputs} }} }}
    """


def params_of(*layers):
    return graph_of(INPUT + "".join(layers)).params


def shared(first, second, outputs=3):
    """Two layers whose weights are one blob; `first`, `second`: their multipliers."""
    return graph_of(
        INPUT
        + ip("a", "data", f'param {{ name: "w" {first} }}')
        + ip("b", "a", f'param {{ name: "w" {second} }}', outputs)
    )


def test_params_are_named_by_their_layer_and_index():
    found = params_of(ip("a", "data", outputs=5))
    assert [(p.key, p.shape) for p in found.values()] == [
        ("a/0", (5, 3)),
        ("a/1", (5,)),
    ]


def test_multipliers_are_one_where_none_is_given():
    found = params_of(ip("a", "data", "param { lr_mult: 2 decay_mult: 0 }"))
    assert [(p.lr_mult, p.decay_mult) for p in found.values()] == [(2, 0), (1, 1)]


def test_statistics_are_state():
    bn = 'layer { name: "bn" type: "BatchNorm" bottom: "data" top: "bn" }'
    assert [p.state for p in params_of(bn).values()] == [True, True, True]


def test_a_shared_name_means_one_param():
    graph = shared("", "")
    assert list(graph.params) == ["a/0", "a/1", "b/1"]
    assert [node.params for node in graph.nodes[1:]] == [
        ("a/0", "a/1"),
        ("a/0", "b/1"),
    ]


def test_layers_of_one_name_share_nothing():
    graph = graph_of(
        INPUT + ip("a", "data") + ip("a", "a").replace('top: "a"', 'top: "b"')
    )
    assert list(graph.params) == ["a/0", "a/1", "a#2/0", "a#2/1"]


@pytest.mark.parametrize("field", ["lr_mult", "decay_mult"])
def test_a_multiplier_may_be_given_by_any_of_those_who_share(field):
    for first, second in [
        (f"{field}: 3", ""),
        ("", f"{field}: 3"),
        (f"{field}: 3",) * 2,
    ]:
        param = shared(first, second).params["a/0"]
        assert getattr(param, field) == 3, (first, second)


@pytest.mark.parametrize("field", ["lr_mult", "decay_mult"])
def test_multipliers_of_a_shared_param_must_agree(field):
    with pytest.raises(
        GraphError, match=f"'b'.*net.prototxt.*'w' has {field} 2"
    ) as error:
        shared(f"{field}: 1", f"{field}: 2")
    assert "layer 'a'" in str(error.value)


def test_a_third_layer_is_held_against_what_the_second_gave():
    with pytest.raises(GraphError, match="has lr_mult 5"):
        graph_of(
            INPUT
            + ip("a", "data", 'param { name: "w" }')
            + ip("b", "a", 'param { name: "w" lr_mult: 2 }')
            + ip("c", "b", 'param { name: "w" lr_mult: 5 }')
        )


def test_shapes_of_a_shared_param_must_be_equal():
    with pytest.raises(GraphError, match=r"the shapes differ: \(4, 3\) and \(3, 3\)"):
        shared("", "", outputs=4)


def test_permissive_sharing_asks_for_equal_counts():
    text = """layer { name: "in" type: "Input" top: "data"
      input_param { shape { dim: 2 dim: 3 dim: 1 dim: 1 } } }
    layer { name: "conv" type: "Convolution" bottom: "data" top: "conv"
      param { name: "w" } convolution_param { num_output: 3 kernel_size: 1 } }
    """
    permissive = 'param { name: "w" share_mode: PERMISSIVE }'
    graph = graph_of(text + ip("ip", "conv", permissive))
    assert graph.nodes[-1].params == ("conv/0", "ip/1")
    with pytest.raises(GraphError, match="equal counts only"):
        graph_of(text + ip("ip", "conv", permissive, outputs=4))
    with pytest.raises(GraphError, match="the shapes differ"):
        graph_of(text + ip("ip", "conv", 'param { name: "w" }'))


def test_more_param_entries_than_blobs_are_refused():
    with pytest.raises(GraphError, match="has 2 learnable blobs but 3 param entries"):
        params_of(ip("a", "data", "param {} param {} param {}"))
    with pytest.raises(GraphError, match="has 0 learnable blobs but 1 param"):
        params_of(ip("a", "data", "param {}", kind="ReLU"))
