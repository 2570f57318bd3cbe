"""Fields of forks that Caffe says in another way: the net with Caffe's field."""

from collections.abc import Iterator

from prototxt.schema import Message, NetParameter, enum_value
from prototxt.upgrade.notes import Note


def _ceil_mode(block: Message) -> None:
    """soeaver's ceil_mode to round_mode."""
    mode = "CEIL" if block.ceil_mode else "FLOOR"
    block.round_mode = enum_value("PoolingParameter.RoundMode", mode)


def _hole(block: Message) -> None:
    """DeepLab's hole to dilation."""
    block.dilation.extend(block.hole)


# Block of a layer, the fork's field in it, how it is moved, and Caffe's field.
_MOVES = (
    ("pooling_param", "ceil_mode", _ceil_mode, "round_mode"),
    ("convolution_param", "hole", _hole, "dilation"),
)


def _is_given(block: Message, name: str) -> bool:
    return any(field.name == name for field, _ in block.ListFields())


def _found(net: Message) -> Iterator[tuple[Message, int]]:
    for layer in net.layer:
        for index, (block, name, _, _) in enumerate(_MOVES):
            if layer.HasField(block) and _is_given(getattr(layer, block), name):
                yield layer, index


def needs_fork_upgrade(net: Message) -> bool:
    """Whether a layer has a fork's field that Caffe has under another name."""
    return next(_found(net), None) is not None


def upgrade_fork_fields(net: Message) -> tuple[Message, list[Note]]:
    """The net with Caffe's fields, and a note on each kind of change."""
    new = NetParameter()
    new.CopyFrom(net)
    seen = []
    for layer, index in list(_found(new)):
        block_name, name, move, _ = _MOVES[index]
        block = getattr(layer, block_name)
        move(block)
        block.ClearField(name)
        seen.append(index)
    return new, [
        Note("I", f"Read {block}.{name}, which is a fork's, as {block}.{caffes}.")
        for index, (block, name, _, caffes) in enumerate(_MOVES)
        if index in seen
    ]
