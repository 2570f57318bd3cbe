"""V0 to V1: layers { layer { type: "conv" kernelsize: 3 } }, the format of 2013.

In V0 all parameters of all layers lie side by side in one message, and padding is a
layer of its own in front of a convolution.
"""

from prototxt.errors import PrototxtError
from prototxt.schema import Message, NetParameter, repeated_fields
from prototxt.upgrade.notes import Note

# V0's type names and V1's.
TYPES = {
    "accuracy": "ACCURACY",
    "bnll": "BNLL",
    "concat": "CONCAT",
    "conv": "CONVOLUTION",
    "data": "DATA",
    "dropout": "DROPOUT",
    "euclidean_loss": "EUCLIDEAN_LOSS",
    "flatten": "FLATTEN",
    "hdf5_data": "HDF5_DATA",
    "hdf5_output": "HDF5_OUTPUT",
    "im2col": "IM2COL",
    "images": "IMAGE_DATA",
    "infogain_loss": "INFOGAIN_LOSS",
    "innerproduct": "INNER_PRODUCT",
    "lrn": "LRN",
    "multinomial_logistic_loss": "MULTINOMIAL_LOGISTIC_LOSS",
    "pool": "POOLING",
    "relu": "RELU",
    "sigmoid": "SIGMOID",
    "softmax": "SOFTMAX",
    "softmax_loss": "SOFTMAX_LOSS",
    "split": "SPLIT",
    "tanh": "TANH",
    "window_data": "WINDOW_DATA",
}

_BLOCKS = {
    "conv": "convolution_param",
    "innerproduct": "inner_product_param",
    "pool": "pooling_param",
    "dropout": "dropout_param",
    "lrn": "lrn_param",
    "data": "data_param",
    "hdf5_data": "hdf5_data_param",
    "images": "image_data_param",
    "window_data": "window_data_param",
    "infogain_loss": "infogain_loss_param",
    "concat": "concat_param",
}

_WEIGHTED = ("conv", "innerproduct")
_SOURCES = ("data", "hdf5_data", "images", "window_data")

# V0's field: its name in the layer's block, and the types that have it.
_FIELDS: dict[str, tuple[str, tuple[str, ...]]] = {
    "num_output": ("num_output", _WEIGHTED),
    "biasterm": ("bias_term", _WEIGHTED),
    "weight_filler": ("weight_filler", _WEIGHTED),
    "bias_filler": ("bias_filler", _WEIGHTED),
    "pad": ("pad", ("conv", "pool")),
    "kernelsize": ("kernel_size", ("conv", "pool")),
    "group": ("group", ("conv",)),
    "stride": ("stride", ("conv", "pool")),
    "pool": ("pool", ("pool",)),
    "dropout_ratio": ("dropout_ratio", ("dropout",)),
    "local_size": ("local_size", ("lrn",)),
    "alpha": ("alpha", ("lrn",)),
    "beta": ("beta", ("lrn",)),
    "k": ("k", ("lrn",)),
    "source": ("source", (*_SOURCES, "infogain_loss")),
    "batchsize": ("batch_size", _SOURCES),
    "rand_skip": ("rand_skip", ("data", "images")),
    "shuffle_images": ("shuffle", ("images",)),
    "new_height": ("new_height", ("images",)),
    "new_width": ("new_width", ("images",)),
    "concat_dim": ("concat_dim", ("concat",)),
    "det_fg_threshold": ("fg_threshold", ("window_data",)),
    "det_bg_threshold": ("bg_threshold", ("window_data",)),
    "det_fg_fraction": ("fg_fraction", ("window_data",)),
    "det_context_pad": ("context_pad", ("window_data",)),
    "det_crop_mode": ("crop_mode", ("window_data",)),
}

# These go to transform_param, whatever the type.
_TRANSFORMS = {
    "scale": "scale",
    "meanfile": "mean_file",
    "cropsize": "crop_size",
    "mirror": "mirror",
}


def needs_v0_upgrade(net: Message) -> bool:
    """Whether a layer of the net is in V0."""
    return any(layer.HasField("layer") for layer in net.layers)


def upgrade_v0(net: Message) -> tuple[Message, list[Note], list[int]]:
    """The net in V1.

    Returns:
        The new net; an error note for each parameter that a layer's type does not
        have (it is dropped, as Caffe does); for each new layer the index of the old.
    """
    padded, sources = _merge_padding(net)
    new = NetParameter()
    new.CopyFrom(padded)
    del new.layers[:]
    notes: list[Note] = []
    for old in padded.layers:
        notes += _upgrade_layer(old, new.layers.add())
    return new, notes, sources


def _merge_padding(net: Message) -> tuple[Message, list[int]]:
    """Drop padding layers; the layer behind each gets its pad and its bottom."""
    new = NetParameter()
    new.CopyFrom(net)
    del new.layers[:]
    makers: dict[str, Message] = {}
    sources = []
    for index, layer in enumerate(net.layers):
        if layer.layer.type != "padding":
            new.layers.add().CopyFrom(layer)
            sources.append(index)
        for position, bottom in enumerate(layer.bottom):
            maker = makers.get(bottom)
            if maker is not None and maker.layer.type == "padding":
                _check_padding(layer, maker)
                new.layers[-1].layer.pad = maker.layer.pad
                new.layers[-1].bottom[position] = maker.bottom[0]
        makers.update(dict.fromkeys(layer.top, layer))
    return new, sources


def _check_padding(layer: Message, padding: Message) -> None:
    name = padding.layer.name
    if layer.layer.type not in ("conv", "pool"):
        raise PrototxtError(
            f"padding layer '{name}' feeds layer '{layer.layer.name}' of type "
            f"'{layer.layer.type}'; only 'conv' and 'pool' can be padded"
        )
    if len(layer.bottom) != 1 or len(padding.bottom) != 1 or len(padding.top) != 1:
        raise PrototxtError(
            f"padding layer '{name}' and the layer behind it, "
            f"'{layer.layer.name}', must have one bottom and one top each"
        )


def _upgrade_layer(connection: Message, new: Message) -> list[Note]:
    if not connection.HasField("layer"):
        new.bottom.extend(connection.bottom)
        new.top.extend(connection.top)
        return []
    old = connection.layer
    new.bottom.extend(connection.bottom)
    new.top.extend(connection.top)
    if old.HasField("name"):
        new.name = old.name
    if old.HasField("type"):
        new.type = _type_number(old, new)
    new.blobs_lr.extend(old.blobs_lr)
    new.weight_decay.extend(old.weight_decay)
    new.blobs.extend(old.blobs)
    return _move_fields(old, new)


def _type_number(old: Message, new: Message) -> int:
    types = new.DESCRIPTOR.fields_by_name["type"].enum_type.values_by_name
    if old.type not in TYPES:
        raise PrototxtError(
            f"layer '{old.name}': unknown V0 layer type '{old.type}' "
            f"(known: {', '.join(TYPES)})"
        )
    return int(types[TYPES[old.type]].number)


def _move_fields(old: Message, new: Message) -> list[Note]:
    notes = []
    for name, (new_name, types) in _FIELDS.items():
        if not old.HasField(name):
            continue
        if old.type in types:
            block = getattr(new, _BLOCKS[old.type])
            _put(block, new_name, getattr(old, name))
        else:
            text = f"Unknown parameter {name} for layer type {old.type}"
            notes.append(Note("E", text))
    for name, new_name in _TRANSFORMS.items():
        if old.HasField(name):
            setattr(new.transform_param, new_name, getattr(old, name))
    if old.HasField("hdf5_output_param"):
        notes += _move_hdf5_output(old, new)
    return notes


def _move_hdf5_output(old: Message, new: Message) -> list[Note]:
    if old.type != "hdf5_output":
        text = f"Unknown parameter hdf5_output_param for layer type {old.type}"
        return [Note("E", text)]
    new.hdf5_output_param.CopyFrom(old.hdf5_output_param)
    return []


def _put(block: Message, name: str, value: object) -> None:
    """Set a field, which may be a message, or repeated where it was not before."""
    field = block.DESCRIPTOR.fields_by_name[name]
    if name in repeated_fields(block.DESCRIPTOR):
        getattr(block, name).append(value)
    elif field.message_type is not None:
        getattr(block, name).CopyFrom(value)
    else:
        setattr(block, name, value)
