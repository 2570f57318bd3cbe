"""Activation: max(x, 0) + alpha min(x, 0), and the other element-wise functions.

A negative alpha makes the sign of x unreadable from y, so it alone saves a mask.
"""

from collections.abc import Callable
from dataclasses import dataclass

from geeps_caffe.device.array import Array, ArrayModule, count
from geeps_caffe.engines.engine import SavedArray
from geeps_caffe.engines.operations import Activation
from geeps_caffe.engines.reference.definition import Definition, Ports, Shapes


@dataclass(frozen=True)
class Function:
    """y of (xp, x, alpha), and dy/dx of (xp, y, where x > 0, alpha)."""

    value: Callable[[ArrayModule, Array, float], Array]
    slope: Callable[[ArrayModule, Array, Array, float], Array]


FUNCTIONS = {
    "relu": Function(
        lambda xp, x, alpha: (
            xp.where(x < 0, alpha * x, x) if alpha else xp.maximum(x, 0)
        ),
        lambda xp, y, positive, alpha: xp.where(positive, 1, alpha).astype(y.dtype),
    ),
    "elu": Function(
        lambda xp, x, alpha: xp.where(x > 0, x, alpha * xp.expm1(xp.minimum(x, 0))),
        lambda xp, y, positive, alpha: xp.where(positive, 1, y + alpha),
    ),
    "sigmoid": Function(
        lambda xp, x, alpha: 0.5 * xp.tanh(0.5 * x) + 0.5,
        lambda xp, y, positive, alpha: y * (1 - y),
    ),
    "tanh": Function(
        lambda xp, x, alpha: xp.tanh(x),
        lambda xp, y, positive, alpha: 1 - y * y,
    ),
}


def forward(operation: Activation, xp: ArrayModule, ports: Ports) -> None:
    """top0 = f(bottom0)."""
    x = ports["bottom0"]
    if "saved0" in ports:
        ports["saved0"][...] = x > 0
    ports["top0"][...] = FUNCTIONS[operation.kind].value(xp, x, operation.alpha)


def backward(operation: Activation, xp: ArrayModule, ports: Ports) -> None:
    """bottom0.diff = f'(bottom0) top0.diff, f' from top0."""
    y = ports["top0"]
    positive = ports["saved0"].astype(bool) if "saved0" in ports else y > 0
    slope = FUNCTIONS[operation.kind].slope(xp, y, positive, operation.alpha)
    xp.multiply(slope, ports["top0.diff"], out=ports["bottom0.diff"])


def saved(
    operation: Activation, shapes: Shapes, itemsize: int
) -> tuple[SavedArray, ...]:
    """Where x > 0, as bytes, for a negative alpha."""
    del itemsize
    shape = shapes["bottom0"]
    return (SavedArray(count(shape), shape, "uint8"),) if operation.alpha < 0 else ()


DEFINITION = Definition(forward, backward, frozenset({"top"}), saved)
