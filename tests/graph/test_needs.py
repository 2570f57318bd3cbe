"""Which layers run backward: the rules of Net::Init."""

import pytest

from geeps_caffe.errors import GraphError
from tests.schedule.nets import graph_of

INPUT = """layer { name: "in" type: "Input" top: "data" top: "label"
  input_param { shape { dim: 2 dim: 3 } shape { dim: 2 dim: 3 } } }
"""


def ip(name, bottom, params="", extra=""):
    return f"""layer {{ name: "{name}" type: "InnerProduct" bottom: "{bottom}"
      top: "{name}" {params} {extra} inner_product_param {{ num_output: 3 }} }}
    """


def loss(name, bottom, extra=""):
    return f"""layer {{ name: "{name}" type: "EuclideanLoss" bottom: "{bottom}"
      bottom: "label" top: "{name}" {extra} }}
    """


FROZEN = "param { lr_mult: 0 } param { lr_mult: 0 }"


def nodes_of(*layers, force=False):
    text = "force_backward: true\n" * force + INPUT + "".join(layers)
    return {node.name: node for node in graph_of(text).nodes}


def backward(*layers, force=False):
    """The layers that run backward, and for each which bottoms get a gradient."""
    found = nodes_of(*layers, force=force)
    return {n.name: n.propagate for n in found.values() if n.needs_backward}


def test_what_learns_needs_its_gradient_and_data_none():
    assert backward(ip("a", "data"), ip("b", "a"), loss("loss", "b")) == {
        "a": (False,),
        "b": (True,),
        "loss": (True, False),
    }


def test_without_a_loss_nothing_runs_backward():
    assert backward(ip("a", "data")) == {}


def test_without_params_nothing_runs_backward():
    assert backward(loss("loss", "data")) == {}


def test_below_the_lowest_layer_that_learns_nothing_runs_backward():
    found = backward(ip("a", "data", FROZEN), ip("b", "a"), loss("loss", "b"))
    assert found == {"b": (False,), "loss": (True, False)}


def test_a_rate_of_zero_stops_learning_but_not_the_gradient():
    nodes = nodes_of(ip("a", "data"), ip("b", "a", FROZEN), loss("loss", "b"))
    assert nodes["b"].propagate == (True,)
    assert nodes["b"].learns == (False, False)
    assert nodes["a"].learns == (True, True)


def test_one_blob_of_a_layer_may_stand_still():
    nodes = nodes_of(ip("a", "data", "param { lr_mult: 1 } param { lr_mult: 0 }"),
                     loss("loss", "a"))  # fmt: skip
    assert nodes["a"].learns == (True, False)


def test_what_is_under_no_loss_does_not_learn():
    nodes = nodes_of(ip("a", "data"), ip("b", "a"), ip("c", "a"), loss("loss", "b"))
    assert not nodes["c"].needs_backward
    assert nodes["c"].learns == (False, False)
    assert nodes["c"].propagate == (False,)


def test_a_loss_of_weight_zero_is_no_loss():
    assert backward(ip("a", "data"), loss("loss", "a", "loss_weight: 0")) == {}


def test_any_top_with_a_weight_is_a_loss():
    assert backward(ip("a", "data", extra="loss_weight: 2")) == {"a": (False,)}


def test_two_losses_meet_in_a_split():
    found = backward(
        ip("a", "data"),
        loss("l1", "a"),
        ip("b", "a"),
        loss("l2", "b", "loss_weight: 3"),
    )
    assert found == {
        "a": (False,),
        "a_a_0_split": (True,),
        "l1": (True, False),
        "b": (True,),
        "l2": (True, False),
    }


def test_propagate_down_false_cuts_the_gradient():
    found = backward(
        ip("a", "data"), ip("b", "a", extra="propagate_down: false"), loss("loss", "b")
    )
    assert found == {"b": (False,), "loss": (True, False)}


def test_propagate_down_true_asks_for_a_gradient_that_nobody_learns_from():
    found = backward(
        ip("a", "data", FROZEN), ip("b", "a", extra="propagate_down: true"),
        loss("loss", "b"),
    )  # fmt: skip
    assert found["b"] == (True,)


def test_propagate_down_has_an_entry_for_each_bottom():
    with pytest.raises(GraphError, match=r"'loss'.*1 propagate_down entries for 2"):
        backward(ip("a", "data"), loss("loss", "a", "propagate_down: true"))


def test_force_backward_gives_every_blob_a_gradient_where_it_can():
    found = nodes_of(ip("a", "data", FROZEN), loss("loss", "a"), force=True)
    assert found["a"].propagate == (True,)
    assert found["a"].learns == (True, True)
    assert found["loss"].propagate[0]


def test_force_backward_leaves_labels_alone():
    text = INPUT.replace("shape { dim: 2 dim: 3 } }", "shape { dim: 2 } }")
    text = "force_backward: true\n" + text + ip("a", "data")
    text += """layer { name: "loss" type: "SoftmaxWithLoss" bottom: "a"
      bottom: "label" top: "loss" }"""
    assert graph_of(text).nodes[-1].propagate == (True, False)


def test_labels_that_depend_on_what_learns_are_refused():
    text = INPUT + ip("a", "data") + ip("b", "data")
    text += """layer { name: "r" type: "Reduction" bottom: "b" top: "r"
      reduction_param { axis: 1 } }
    layer { name: "loss" type: "SoftmaxWithLoss" bottom: "a" bottom: "r" top: "loss" }
    """
    with pytest.raises(GraphError, match=r"bottom\[1\].*reads as labels"):
        graph_of(text)
    allowed = text.replace('bottom: "r" top', 'bottom: "r" propagate_down: true '
                           'propagate_down: false top')  # fmt: skip
    assert graph_of(allowed).nodes[-1].propagate == (True, False)


def test_statistics_never_learn():
    bn = 'layer { name: "bn" type: "BatchNorm" bottom: "a" top: "bn" }\n'
    nodes = nodes_of(ip("a", "data"), bn, loss("loss", "bn"))
    assert nodes["bn"].learns == (False, False, False)
    assert nodes["bn"].needs_backward
