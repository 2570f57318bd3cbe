import pytest

from prototxt.errors import PrototxtError
from prototxt.schema import NetParameter
from prototxt.text import parse_text
from prototxt.upgrade.inputs import upgrade_inputs


def net(text):
    return parse_text(text, NetParameter).message


def shapes(layer):
    return [list(shape.dim) for shape in layer.input_param.shape]


def test_the_input_layer_comes_first():
    new, added = upgrade_inputs(
        net('layer { name: "c" } input: "x" input_dim: [1,2,3,4]')
    )
    assert added
    assert [layer.name for layer in new.layer] == ["input", "c"]
    assert (new.layer[0].type, list(new.layer[0].top)) == ("Input", ["x"])
    assert shapes(new.layer[0]) == [[1, 2, 3, 4]]
    assert not new.input and not new.input_dim


def test_each_input_has_its_shape():
    text = 'input: ["x", "y"] input_shape [{ dim: 1 }, { dim: [2, 3] }]'
    new, _ = upgrade_inputs(net(text))
    assert shapes(new.layer[0]) == [[1], [2, 3]]


def test_inputs_without_shapes_are_dropped():
    new, added = upgrade_inputs(net('input: "x" layer { name: "c" }'))
    assert not added
    assert [layer.name for layer in new.layer] == ["c"]
    assert not new.input


@pytest.mark.parametrize(
    "text",
    [
        'input: ["x", "y"] input_shape { dim: 1 }',
        'input: ["x", "y"] input_dim: [1,2,3,4]',
    ],
)
def test_too_few_shapes_are_refused(text):
    with pytest.raises(PrototxtError, match="the net has 2 'input' and"):
        upgrade_inputs(net(text))
