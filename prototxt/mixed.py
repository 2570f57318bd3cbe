"""What is wrong with a net that has layers of the old and of the current format."""

from prototxt.errors import Fault
from prototxt.schema import Message, NetParameter
from prototxt.upgrade.v1 import upgrade_layer
from prototxt.write import write_text


def mixed_formats(
    new: Message, new_line: int, old: Message, old_line: int, way_out: str
) -> Fault:
    """The fault: a layer of each format with its line, and what to do.

    Args:
        new: the first layer of the current format.
        new_line: its line.
        old: the first layer of the old one, V1 or V0; it is shown as it should be,
            but for one of V0.
        old_line: its line, where the fault is.
        way_out: what to do, as a clause.
    """
    old_name = old.name or old.layer.name
    text = (
        f"the net mixes formats: layer '{new.name}' (line {new_line}) is "
        f"'layer {{ ... }}', layer '{old_name}' (line {old_line}) is the old "
        f"'layers {{ ... }}'; {way_out}"
    )
    if not old.HasField("layer"):
        text += f". Layer '{old_name}' in the current format:\n{_as_current(old)}"
    return Fault(text, old_line, 1)


def _as_current(old: Message) -> str:
    net = NetParameter()
    upgrade_layer(old, net.layer.add())
    return write_text(net).rstrip()
