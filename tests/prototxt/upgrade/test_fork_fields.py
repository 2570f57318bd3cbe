import pytest

from prototxt.schema import enum_name
from prototxt.text import parse_net


@pytest.mark.parametrize(("ceil", "mode"), [("true", "CEIL"), ("false", "FLOOR")])
def test_ceil_mode_is_round_mode(ceil, mode):
    document = parse_net(f"layer {{ pooling_param {{ ceil_mode: {ceil} }} }}")
    pooling = document.message.layer[0].pooling_param
    assert enum_name(pooling, "round_mode") == mode
    assert not pooling.HasField("ceil_mode")
    assert document.notes[0].text == (
        "Read pooling_param.ceil_mode, which is a fork's, as pooling_param.round_mode."
    )


def test_hole_is_dilation_in_old_nets_too():
    document = parse_net("layers { type: CONVOLUTION convolution_param { hole: 2 } }")
    conv = document.message.layer[0].convolution_param
    assert list(conv.dilation) == [2]
    assert not conv.hole
