"""Fields `input`, `input_shape` and `input_dim` of a net to an Input layer."""

from prototxt.errors import PrototxtError
from prototxt.schema import Message, NetParameter


def needs_input_upgrade(net: Message) -> bool:
    """Whether the net names its inputs in the old fields."""
    return len(net.input) > 0


def refuse_shapeless_inputs(net: Message) -> None:
    """Refuse layers on inputs whose shapes are not given; they could read nothing.

    Raises:
        PrototxtError: there are such inputs.
    """
    shapeless = len(net.input_shape) == 0 and len(net.input_dim) == 0
    if net.input and shapeless and (net.layer or net.layers):
        raise PrototxtError(
            f"the net has {len(net.input)} 'input' and no 'input_shape'; each input "
            "needs one"
        )


def upgrade_inputs(net: Message) -> tuple[Message, bool]:
    """The net with an Input layer at its head.

    A net that names inputs without any shape (an empty shell, as some weight files
    have) just loses them, as in Caffe.

    Returns:
        The new net, and whether it has a new layer.

    Raises:
        PrototxtError: there are not as many shapes as inputs.
    """
    new = NetParameter()
    new.CopyFrom(net)
    for name in ("input", "input_shape", "input_dim", "layer"):
        new.ClearField(name)
    has_layer = len(net.input_shape) > 0 or len(net.input_dim) > 0
    if has_layer:
        layer = new.layer.add(name="input", type="Input", top=net.input)
        for dims in _shapes(net):
            layer.input_param.shape.add(dim=dims)
    new.layer.extend(net.layer)
    return new, has_layer


def _shapes(net: Message) -> list[list[int]]:
    count = len(net.input)
    if len(net.input_shape) > 0:
        if len(net.input_shape) != count:
            raise PrototxtError(
                f"the net has {count} 'input' and {len(net.input_shape)} "
                "'input_shape'; each input needs one"
            )
        return [list(shape.dim) for shape in net.input_shape]
    if len(net.input_dim) != 4 * count:
        raise PrototxtError(
            f"the net has {count} 'input' and {len(net.input_dim)} 'input_dim'; "
            "each input needs four (or one 'input_shape', of any length)"
        )
    return [list(net.input_dim[4 * i : 4 * i + 4]) for i in range(count)]
