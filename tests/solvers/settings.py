"""SolverParameter messages for tests, without the prototxt library."""

import re
from types import SimpleNamespace

import numpy as np

DEFAULTS = {
    "type": "SGD",
    "lr_policy": "fixed",
    "base_lr": 0.0,
    "gamma": 0.0,
    "power": 0.0,
    "stepsize": 0,
    "stepvalue": [],
    "max_iter": 0,
    "momentum": 0.0,
    "momentum2": 0.999,
    "delta": 1e-8,
    "rms_decay": 0.99,
    "weight_decay": 0.0,
    "regularization_type": "L2",
    "clip_gradients": -1.0,
    "iter_size": 1,
}


def solver(**fields):
    """A message with these fields set; floats are single precision, as in protobuf."""
    values = {**DEFAULTS, **fields}
    single = {k: float(np.float32(v)) for k, v in values.items() if type(v) is float}
    return SimpleNamespace(**{**values, **single})


def read_solver(text):
    """A recorded solver prototxt: one `name: value` a line."""
    fields = {}
    for name, value in re.findall(r"(\w+): (\S+)", text):
        if name not in DEFAULTS:
            continue
        kind = type(DEFAULTS[name])
        if kind is list:
            fields.setdefault(name, []).append(int(value))
        else:
            fields[name] = kind(value.strip('"'))
    return solver(**fields)
