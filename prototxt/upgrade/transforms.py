"""V1 data layers: scale, mean_file, crop_size and mirror go to transform_param."""

from collections.abc import Iterator

from prototxt.schema import Message, NetParameter, enum_name

_BLOCKS = {
    "DATA": "data_param",
    "IMAGE_DATA": "image_data_param",
    "WINDOW_DATA": "window_data_param",
}
FIELDS = ("scale", "mean_file", "crop_size", "mirror")


def _old_fields(net: Message) -> Iterator[tuple[Message, Message, str]]:
    """Layer, block and name of each field that is in the old place."""
    for layer in net.layers:
        block_name = _BLOCKS.get(enum_name(layer, "type"))
        if block_name and layer.HasField(block_name):
            block = getattr(layer, block_name)
            for name in FIELDS:
                if block.HasField(name):
                    yield layer, block, name


def needs_transform_upgrade(net: Message) -> bool:
    """Whether a V1 data layer has a transformation in the old place."""
    return next(_old_fields(net), None) is not None


def upgrade_transforms(net: Message) -> Message:
    """The net with all transformations of V1 data layers in transform_param."""
    new = NetParameter()
    new.CopyFrom(net)
    for layer, block, name in list(_old_fields(new)):
        setattr(layer.transform_param, name, getattr(block, name))
        block.ClearField(name)
    return new
