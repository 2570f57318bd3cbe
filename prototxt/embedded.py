"""Nets that stand in a solver file: net_param, train_net_param, test_net_param."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from prototxt.document import Document
from prototxt.errors import PrototxtError
from prototxt.mixed import mixed_formats
from prototxt.schema import Message
from prototxt.upgrade import INPUT_LAYER, upgrade_net

NetField = Literal["net_param", "train_net_param", "test_net_param"]


def embedded_net(solver: Document, field: NetField, index: int = 0) -> Document:
    """A solver's embedded net in the current format, with the lines of its layers.

    Args:
        solver: the solver.
        field: where in the solver the net stands; it must be given there.
        index: which one, of `test_net_param`.

    Raises:
        PrototxtError: as `read_net`.
    """
    value = getattr(solver.message, field)
    several = field == "test_net_param"
    net, earlier = (value[index], value[:index]) if several else (value, ())
    if len(net.layer) > 0 and len(net.layers) > 0:
        raise _mixed(solver, field, net, earlier)
    upgraded = upgrade_net(net, solver.path)
    layers = "layers" if len(net.layers) > 0 else "layer"
    first = sum(len(getattr(before, layers)) for before in earlier)
    lines = solver.lines.get((-1, f"{field}.{layers}"), ())
    place = solver.line_of(field, index=index)
    return replace(
        solver,
        message=upgraded.message,
        layer_lines=tuple(
            place if i == INPUT_LAYER else lines[first + i] for i in upgraded.sources
        ),
        entries=tuple(
            i if i == INPUT_LAYER else _entry(solver, f"{field}.{layers}", first + i)
            for i in upgraded.sources
        ),
        warnings=(),
        notes=upgraded.notes,
    )


def _mixed(
    solver: Document, field: NetField, net: Message, earlier: Sequence[Message]
) -> PrototxtError:
    """The error of a net with layers of both formats."""
    line = {
        kind: solver.lines[(-1, f"{field}.{kind}")][
            sum(len(getattr(before, kind)) for before in earlier)
        ]
        for kind in ("layer", "layers")
    }
    way_out = f"write all layers of {field} as 'layer {{ ... }}'"
    fault = mixed_formats(
        net.layer[0], line["layer"], net.layers[0], line["layers"], way_out
    )
    return PrototxtError(fault, solver.path)


def _entry(solver: Document, path: str, index: int) -> int:
    """The number of a layer among all layers of the file."""
    line = solver.lines[(-1, path)][index]
    before = 0
    for (entry, other), lines in solver.lines.items():
        if entry == -1 and other != path and other.endswith((".layer", ".layers")):
            before += sum(1 for other_line in lines if other_line < line)
    return before + index
