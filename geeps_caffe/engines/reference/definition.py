"""What an operation's entry in the reference engine consists of."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from geeps_caffe.device.array import Array, ArrayModule, Shape
from geeps_caffe.engines.engine import SavedArray

Ports: TypeAlias = Mapping[str, Array]  # by port name, see engines.operations
Shapes: TypeAlias = Mapping[str, Shape]


def nothing_saved(
    operation: Any, shapes: Shapes, itemsize: int
) -> tuple[SavedArray, ...]:
    """For operations whose backward needs nothing of its own."""
    del operation, shapes, itemsize
    return ()


@dataclass(frozen=True)
class Definition:
    """forward and backward write the output ports that are there, and only those.

    `reads`: the ports that backward reads besides the tops' diffs and saved arrays,
    by kind: "bottom", "top", "param".
    """

    forward: Callable[[Any, ArrayModule, Ports], None]
    backward: Callable[[Any, ArrayModule, Ports], None]
    reads: frozenset[str]
    saved: Callable[[Any, Shapes, int], tuple[SavedArray, ...]] = nothing_saved
