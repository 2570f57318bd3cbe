import pytest

from prototxt.errors import PrototxtError
from prototxt.schema import NetParameter, enum_name
from prototxt.text import parse_text
from prototxt.upgrade.v0 import needs_v0_upgrade, upgrade_v0


def net(text):
    return parse_text(text, NetParameter).message


def upgraded(text):
    new, notes, _ = upgrade_v0(net(text))
    assert not notes
    return new.layers[0]


def test_only_nets_with_a_layer_in_a_layer_are_v0():
    assert needs_v0_upgrade(net("layers { layer { } }"))
    assert not needs_v0_upgrade(net("layers { type: RELU }"))


def test_parameters_go_to_the_block_of_the_type():
    layer = upgraded(
        'layers { layer { name: "c" type: "conv" num_output: 8 kernelsize: 3 pad: 1 '
        'stride: 2 group: 2 biasterm: false weight_filler { type: "xavier" } } '
        'bottom: "x" top: "c" }'
    )
    assert enum_name(layer, "type") == "CONVOLUTION"
    conv = layer.convolution_param
    assert (conv.num_output, conv.group, conv.bias_term) == (8, 2, False)
    assert (list(conv.kernel_size), list(conv.pad), list(conv.stride)) == (
        [3],
        [1],
        [2],
    )
    assert conv.weight_filler.type == "xavier"
    assert (list(layer.bottom), list(layer.top)) == (["x"], ["c"])


def test_transformations_go_to_transform_param():
    layer = upgraded('layers { layer { type: "data" cropsize: 3 meanfile: "m" } }')
    assert layer.transform_param.crop_size == 3
    assert layer.transform_param.mean_file == "m"


def test_rates_and_decays_stay_lists():
    layer = upgraded(
        'layers { layer { type: "conv" blobs_lr: [1, 2] weight_decay: 0 } }'
    )
    assert (list(layer.blobs_lr), list(layer.weight_decay)) == ([1, 2], [0])


def test_a_parameter_that_the_type_does_not_have_is_dropped_with_an_error():
    _, notes, _ = upgrade_v0(net('layers { layer { type: "relu" num_output: 3 } }'))
    assert [(note.severity, note.text) for note in notes] == [
        ("E", "Unknown parameter num_output for layer type relu")
    ]


PADDED = (
    'layers { layer { name: "p" type: "padding" pad: 2 } bottom: "x" top: "p" } '
    'layers { layer { name: "c" type: "%s" } bottom: "p" %s top: "c" }'
)


def test_a_padding_layer_becomes_the_pad_of_the_next():
    new, _, sources = upgrade_v0(net(PADDED % ("pool", "")))
    (layer,) = new.layers
    assert layer.pooling_param.pad == 2
    assert list(layer.bottom) == ["x"]
    assert sources == [1]


@pytest.mark.parametrize(
    ("kind", "bottoms", "expected"),
    [
        ("relu", "", "only 'conv' and 'pool' can be padded"),
        ("conv", 'bottom: "x"', "must have one bottom and one top each"),
    ],
)
def test_padding_that_makes_no_sense_is_refused(kind, bottoms, expected):
    with pytest.raises(PrototxtError, match=expected):
        upgrade_v0(net(PADDED % (kind, bottoms)))


def test_an_unknown_type_is_refused_with_the_known_ones():
    with pytest.raises(PrototxtError, match=r"unknown V0 layer type 'cnov'.*conv"):
        upgrade_v0(net('layers { layer { name: "c" type: "cnov" } }'))


def test_the_old_net_is_left_as_it_is():
    old = net(PADDED % ("conv", ""))
    copy = net(PADDED % ("conv", ""))
    upgrade_v0(old)
    assert old == copy
