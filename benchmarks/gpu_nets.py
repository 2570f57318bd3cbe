"""The nets that are timed on a GPU: all of them travel with the repository."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import prototxt
from benchmarks.models import MODELS, Model, on_one_input
from benchmarks.net_texts import NETS, net_text

FILES = Path(__file__).parents[1] / "models"
SIZES: Mapping[str, Model] = {
    "lenet": MODELS["lenet"],
    "adamlike": Model("adamlike", 200, (3, 227, 227), 22_000),
    **{name: replace(MODELS[name], path=name) for name in NETS},
}


def message_of(name: str, model: Model) -> Any:
    """The training net, its data layers replaced by one Input layer."""
    if name in NETS:
        message = prototxt.parse_net(net_text(name), name).message
    else:
        message = prototxt.read_net(str(FILES / name / "train_val.prototxt")).message
    return on_one_input(message, model)
