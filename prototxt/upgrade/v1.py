"""V1 to the current format: layers { type: CONVOLUTION } to layer { type: "..." }."""

from prototxt.schema import Message, NetParameter, enum_name
from prototxt.upgrade.notes import Note

# V1's type names and the current ones.
TYPES = {
    "NONE": "",
    "ABSVAL": "AbsVal",
    "ACCURACY": "Accuracy",
    "ARGMAX": "ArgMax",
    "BNLL": "BNLL",
    "CONCAT": "Concat",
    "CONTRASTIVE_LOSS": "ContrastiveLoss",
    "CONVOLUTION": "Convolution",
    "DATA": "Data",
    "DECONVOLUTION": "Deconvolution",
    "DROPOUT": "Dropout",
    "DUMMY_DATA": "DummyData",
    "EUCLIDEAN_LOSS": "EuclideanLoss",
    "ELTWISE": "Eltwise",
    "EXP": "Exp",
    "FLATTEN": "Flatten",
    "HDF5_DATA": "HDF5Data",
    "HDF5_OUTPUT": "HDF5Output",
    "HINGE_LOSS": "HingeLoss",
    "IM2COL": "Im2col",
    "IMAGE_DATA": "ImageData",
    "INFOGAIN_LOSS": "InfogainLoss",
    "INNER_PRODUCT": "InnerProduct",
    "LRN": "LRN",
    "MEMORY_DATA": "MemoryData",
    "MULTINOMIAL_LOGISTIC_LOSS": "MultinomialLogisticLoss",
    "MVN": "MVN",
    "POOLING": "Pooling",
    "POWER": "Power",
    "RELU": "ReLU",
    "SIGMOID": "Sigmoid",
    "SIGMOID_CROSS_ENTROPY_LOSS": "SigmoidCrossEntropyLoss",
    "SILENCE": "Silence",
    "SLICE": "Slice",
    "SOFTMAX": "Softmax",
    "SOFTMAX_LOSS": "SoftmaxWithLoss",
    "SPLIT": "Split",
    "TANH": "TanH",
    "THRESHOLD": "Threshold",
    "WINDOW_DATA": "WindowData",
}

_SAME = ("bottom", "top", "include", "exclude", "blobs", "loss_weight")


def needs_v1_upgrade(net: Message) -> bool:
    """Whether a layer of the net is in V1 (or V0)."""
    return len(net.layers) > 0


def upgrade_v1(net: Message) -> tuple[Message, list[Note]]:
    """The net in the current format; layer i is made of old layer i.

    Returns:
        The new net, and an error note for each layer that is still in V0.
    """
    new = NetParameter()
    new.CopyFrom(net)
    del new.layers[:]
    notes = []
    for index, old in enumerate(net.layers):
        upgrade_layer(old, new.layer.add())
        if old.HasField("layer"):
            notes.append(Note("E", "Input NetParameter has V0 layer -- ignoring."))
            notes.append(Note("E", f"Upgrade of input layer {index} failed."))
    return new, notes


def upgrade_layer(old: Message, new: Message) -> None:
    """Fill the empty layer `new` with what the V1 layer `old` says."""
    for name in _SAME:
        getattr(new, name).extend(getattr(old, name))
    if old.HasField("name"):
        new.name = old.name
    if old.HasField("type"):
        new.type = TYPES[enum_name(old, "type")]
    _move_specs(old, new)
    for field, value in old.ListFields():
        if field.message_type is not None and field.name.endswith("_param"):
            getattr(new, field.name).CopyFrom(value)


def _move_specs(old: Message, new: Message) -> None:
    """Four lists (names, modes, rates, decays) to one list of ParamSpec."""
    lists = {
        "name": list(old.param),
        "share_mode": list(old.blob_share_mode),
        "lr_mult": list(old.blobs_lr),
        "decay_mult": list(old.weight_decay),
    }
    for name, entries in lists.items():
        for index, entry in enumerate(entries):
            while len(new.param) <= index:
                new.param.add()
            setattr(new.param[index], name, entry)
