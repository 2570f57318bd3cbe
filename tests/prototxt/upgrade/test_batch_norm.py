from prototxt.schema import NetParameter
from prototxt.text import parse_text
from prototxt.upgrade.batch_norm import needs_batch_norm_upgrade, upgrade_batch_norm


def net(specs, kind="BatchNorm"):
    return parse_text(f'layer {{ type: "{kind}" {specs} }}', NetParameter).message


def test_three_specs_are_not_trained():
    old = net('param { lr_mult: 1 } param { name: "v" } param { decay_mult: 2 }')
    specs = upgrade_batch_norm(old).layer[0].param
    assert [(spec.lr_mult, spec.decay_mult) for spec in specs] == [(0, 0)] * 3
    assert specs[1].name == "v"
    assert old.layer[0].param[0].lr_mult == 1


def test_other_numbers_of_specs_and_other_types_stay():
    assert not needs_batch_norm_upgrade(net("param { } param { }"))
    assert not needs_batch_norm_upgrade(net("param { } param { } param { }", "Scale"))
