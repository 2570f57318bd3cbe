from prototxt.schema import NetParameter, V1LayerParameter, enum_name
from prototxt.text import parse_text
from prototxt.upgrade.v1 import TYPES, upgrade_v1
from prototxt.write import write_text


def upgraded(text):
    new, notes = upgrade_v1(parse_text(text, NetParameter).message)
    assert not notes
    return write_text(new.layer[0])


def one_line(text):
    return " ".join(text.split())


def test_every_type_has_a_name():
    field = V1LayerParameter.DESCRIPTOR.fields_by_name["type"]
    assert set(TYPES) == set(field.enum_type.values_by_name)


def test_four_lists_become_one_list_of_specs():
    text = upgraded(
        'layers { param: "w" blob_share_mode: PERMISSIVE blobs_lr: [1, 2] '
        "weight_decay: [3, 4, 5] }"
    )
    assert one_line(text) == (
        'param { name: "w" share_mode: PERMISSIVE lr_mult: 1 decay_mult: 3 } '
        "param { lr_mult: 2 decay_mult: 4 } param { decay_mult: 5 }"
    )


def test_settings_and_rules_are_kept():
    text = upgraded(
        'layers { name: "p" type: POOLING bottom: "x" top: "y" loss_weight: 2 '
        "include { phase: TRAIN } exclude { min_level: 1 } "
        "pooling_param { kernel_size: 2 } transform_param { mirror: true } }"
    )
    assert one_line(text) == (
        'name: "p" type: "Pooling" bottom: "x" top: "y" loss_weight: 2 '
        "include { phase: TRAIN } exclude { min_level: 1 } "
        "transform_param { mirror: true } pooling_param { kernel_size: 2 }"
    )


def test_blobs_are_kept():
    net = NetParameter()
    net.layers.add().blobs.add(num=1, data=[3])
    new, _ = upgrade_v1(net)
    assert new.layer[0].blobs == net.layers[0].blobs


def test_a_layer_that_is_still_v0_is_an_error():
    net = parse_text('layers { layer { name: "old" } }', NetParameter).message
    _, notes = upgrade_v1(net)
    assert [note.severity for note in notes] == ["E", "E"]


def test_the_type_is_known_by_its_number_too():
    net = parse_text("layers { type: 18 }", NetParameter).message
    assert enum_name(net.layers[0], "type") == "RELU"
