import pytest

from prototxt import PrototxtError
from prototxt.embedded import embedded_net
from prototxt.text import parse_solver

SOLVER = """base_lr: 0.1
test_net_param { layer { name: "t0" } }
train_net_param {
  layers { name: "a" type: RELU }
  layers { name: "b" type: TANH
    bottom: "a" }
}
test_net_param {
  input: "x" input_dim: [1, 2, 3, 4]
  layer { name: "t1" }
}
"""


def test_an_embedded_net_is_upgraded_and_keeps_its_lines():
    net = embedded_net(parse_solver(SOLVER), "train_net_param")
    assert [layer.type for layer in net.message.layer] == ["ReLU", "TanH"]
    assert net.layer_lines == (4, 5)
    assert net.line_of("bottom", layer=1) == 6


def test_the_second_of_several_test_nets_has_its_own_lines():
    net = embedded_net(parse_solver(SOLVER), "test_net_param", 1)
    assert [layer.name for layer in net.message.layer] == ["input", "t1"]
    assert net.layer_lines == (8, 10)


def test_nets_of_both_formats_may_stand_side_by_side():
    text = """
test_net_param { layer { name: "new" type: "Silence" bottom: "a" }
  layer { name: "newer" type: "Silence" bottom: "b" } }
test_net_param { layers { name: "old" type: SILENCE bottom: "a" } }
test_net_param { layer { name: "newest" type: "Silence" bottom: "a" } }
"""
    solver = parse_solver(text)
    nets = [embedded_net(solver, "test_net_param", i) for i in range(3)]
    assert [net.layer_lines for net in nets] == [(2, 3), (4,), (5,)]


def test_lines_of_a_mixed_test_net_are_its_own():
    text = """
test_net_param { layers { name: "a" type: SILENCE bottom: "a" } }
test_net_param { layers { name: "old" type: SILENCE bottom: "a" }
  layer { name: "new" type: "Silence" bottom: "a" } }
"""
    with pytest.raises(PrototxtError, match=r"'new' \(line 4\).*'old' \(line 3\)"):
        embedded_net(parse_solver(text), "test_net_param", 1)
