"""Fields of forks that change results there and have no effect here: warnings.

Those that only say how a fork computes (its engine, its threads, its types) are read
and not told of; those that layers refuse are told by them.
"""

from collections.abc import Iterator
from typing import Any

from prototxt.document import Document
from prototxt.manual import forks_of
from prototxt.schema import Message

_SCALE = "a Scale layer with bias_term: true after it does the same"
_RELU = "a ReLU layer after it does the same"
_WARM_UP = "a first run at a lower base_lr, then -snapshot, comes near"
#: Fields of layers, by block; and what does the same, if anything.
_OF_LAYERS = {
    "batch_norm_param.scale_bias": _SCALE,
    "batch_norm_param.scale_filler": _SCALE,
    "batch_norm_param.stats_batch_size": "",
    "batch_norm_param.relu": _RELU,
    "convolution_param.relu": _RELU,
    "convolution_param.fusion_type": "an Eltwise layer after it does the same",
    "data_param.side": "",
    "eltwise_param.coeff_blob": "",
    "elu_param.lambda": "",
    "inner_product_param.relu": _RELU,
    "pooling_param.avg_include_pad": "",
    "pooling_param.axis": "",
    "pooling_param.kernel_size_3d": "",
    "pooling_param.torch_pooling": "round_mode: FLOOR rounds as Torch does",
    "quantization_param": "",
}
_OF_NETS = {"bn_stats_batch_size": ""}
_OF_SOLVERS = {
    "disabled_update": "",
    "larc": "",
    "local_lr_auto": "",
    "min_lr": "",
    "momentum_policy": "",
    "rampup_interval": _WARM_UP,
    "warmup_iter": _WARM_UP,
    "weight_decay_policy": "",
}


def unheeded_of_net(document: Document) -> Iterator[str]:
    """A warning for each such field of a net, at the first layer that has it."""
    given = {path for _, path in document.lines}
    for path in _OF_NETS:
        if path in given and _is_set(document.message, path):
            yield _warning(document, path, _OF_NETS[path])
    for path in _OF_LAYERS:
        if path not in given:
            continue
        layers = document.message.layer
        found = [i for i, layer in enumerate(layers) if _is_set(layer, path)]
        if found:
            yield _warning(document, path, _OF_LAYERS[path], found)


def unheeded_of_solver(document: Document) -> Iterator[str]:
    """A warning for each such field of a solver."""
    given = {path for _, path in document.lines}
    for path, instead in _OF_SOLVERS.items():
        if path in given and _is_set(document.message, path):
            yield _warning(document, path, instead)


def _is_set(message: Message, path: str) -> bool:
    """Whether the field says something else than its default."""
    name, _, rest = path.partition(".")
    if rest:
        return message.HasField(name) and _is_set(getattr(message, name), rest)
    given: dict[str, Any] = {field.name: value for field, value in message.ListFields()}
    field = message.DESCRIPTOR.fields_by_name[name]
    return name in given and given[name] != field.default_value


def _warning(
    document: Document, path: str, instead: str, layers: list[int] | None = None
) -> str:
    message, who = document.message, ""
    if layers:
        message = message.layer[layers[0]]
        more = f" and {len(layers) - 1} more" if len(layers) > 1 else ""
        who = f"layer '{message.name}'{more}: "
    where = document.where(path, layers[0] if layers else None)
    block, _, name = path.rpartition(".")
    owner = getattr(message, block) if block else message
    forks = " and ".join(forks_of(owner.DESCRIPTOR.name, name))
    text = (
        f"{where}: {who}{path} is a field of {forks} that changes results; it has no "
        "effect here"
    )
    return f"{text}; {instead}" if instead else text
