"""BatchNorm layers with three param blocks: their statistics must not be trained.

The three blobs are sums that the layer keeps itself. Old nets stop the solver from
changing them by lr_mult: 0; nets that forget it are corrected here, as in Caffe.
"""

from prototxt.schema import Message, NetParameter


def _is_old(layer: Message) -> bool:
    return bool(layer.type == "BatchNorm") and len(layer.param) == 3


def needs_batch_norm_upgrade(net: Message) -> bool:
    """Whether a BatchNorm layer of the net has three param blocks."""
    return any(_is_old(layer) for layer in net.layer)


def upgrade_batch_norm(net: Message) -> Message:
    """The net with lr_mult and decay_mult of those blocks set to 0."""
    new = NetParameter()
    new.CopyFrom(net)
    for layer in new.layer:
        if _is_old(layer):
            for spec in layer.param:
                spec.lr_mult = 0
                spec.decay_mult = 0
    return new
