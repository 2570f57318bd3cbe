import pytest

from prototxt.schema import NetParameter
from prototxt.text import parse_text
from prototxt.upgrade.transforms import needs_transform_upgrade, upgrade_transforms


def net(text):
    return parse_text(text, NetParameter).message


@pytest.mark.parametrize(
    ("kind", "block"),
    [
        ("DATA", "data_param"),
        ("IMAGE_DATA", "image_data_param"),
        ("WINDOW_DATA", "window_data_param"),
    ],
)
def test_transformations_of_data_layers_move(kind, block):
    old = net(
        f"layers {{ type: {kind} {block} {{ batch_size: 2 scale: 0.5 mirror: true "
        'crop_size: 3 mean_file: "m" } }'
    )
    assert needs_transform_upgrade(old)
    layer = upgrade_transforms(old).layers[0]
    transform = layer.transform_param
    assert (transform.scale, transform.mirror) == (0.5, True)
    assert (transform.crop_size, transform.mean_file) == (3, "m")
    assert [f.name for f, _ in getattr(layer, block).ListFields()] == ["batch_size"]


def test_a_block_of_another_type_stays():
    assert not needs_transform_upgrade(
        net("layers { type: RELU data_param { scale: 2 } }")
    )
