import pytest

from geeps_caffe.errors import LayerError
from geeps_caffe.layers import LAYERS
from prototxt import parse_net

TEXT = 'layer {{ name: "in" type: "Input" top: "a" top: "b" input_param {{ {} }} }}'


def _shapes(param):
    (spec,) = parse_net(TEXT.format(param), "net").message.layer
    return LAYERS["Input"](spec).infer_shapes([])


def test_tops_have_the_declared_shapes():
    assert _shapes("shape { dim: 2 dim: 3 } shape { }") == [(2, 3), ()]


def test_one_shape_may_serve_all():
    assert _shapes("shape { dim: 2 dim: 3 }") == [(2, 3), (2, 3)]


@pytest.mark.parametrize("shapes", [0, 3])
def test_other_numbers_of_shapes_are_refused(shapes):
    with pytest.raises(LayerError, match=f"has {shapes} shapes for 2 tops"):
        _shapes("shape { dim: 1 }" * shapes)
