"""The tree of our exceptions, and the exit code that each means.

    GeepsCaffeError            exit 1
      UsageError               exit 2   the command line
      InputError               exit 3   a file: missing, of another kind, wrong inside
        GraphError                      a net that can't be connected
        LayerError                      a layer's parameters, shapes or values
          ItemError                     a value of one item of a batch
        PlanError                       a plan that can't be made (memory)
          BudgetError                   a budget that is too small
        DataError                       a data source or a record
      ParameterServerError     exit 4   a call out of order, tables that differ
        PeerLost               exit 5   a rank died, stalled or never came
    prototxt.PrototxtError     exit 3   text or binary of a model file

A run that a signal stopped ends with 6, without an error: a snapshot is there. Exit 70
is a bug of ours; it keeps its trace.
"""

import difflib
from collections.abc import Iterable

EXIT_FAILURE = 1
EXIT_USAGE = 2
EXIT_INPUT = 3
EXIT_PARAMETER_SERVER = 4
EXIT_PEER_LOST = 5
EXIT_INTERRUPTED = 6
EXIT_BUG = 70


class GeepsCaffeError(Exception):
    """What a user can understand and mend; the CLI prints it in one line."""

    exit_code = EXIT_FAILURE


class UsageError(GeepsCaffeError):
    """The command line does not say what to do."""

    exit_code = EXIT_USAGE


class InputError(GeepsCaffeError):
    """A file is missing, of another kind, or wrong inside."""

    exit_code = EXIT_INPUT


class GraphError(InputError):
    """Layers that can't be connected to a net."""


class LayerError(InputError):
    """A layer's parameters, shapes or values are wrong."""


class ItemError(LayerError):
    """An item of a batch has a wrong value, such as a label that names no class.

    Attributes:
        bottom: which of the layer's bottoms holds it, from 0.
        item: its place in the batch, from 0.
    """

    def __init__(self, message: str, bottom: int, item: int) -> None:
        super().__init__(message)
        self.bottom, self.item = bottom, item


class PlanError(InputError):
    """No plan fits the memory that was allowed."""


class BudgetError(PlanError):
    """A budget that no plan keeps; the message ends with the least one that does.

    Attributes:
        budget: bytes that were allowed.
        reasons: which instructions need how much.
        least: bytes.
    """

    def __init__(self, budget: int, reasons: str, least: int, note: str = "") -> None:
        super().__init__(
            f"a budget of {budget:,} bytes is too small. {reasons}. Give at least "
            f"{least:,} bytes{note}, or make the batch smaller"
        )
        self.budget, self.reasons, self.least = budget, reasons, least


class DataError(InputError):
    """A data source can't be opened, or a record of it is wrong."""


class ParameterServerError(GeepsCaffeError):
    """A call out of order, or tables that differ between ranks."""

    exit_code = EXIT_PARAMETER_SERVER


class PeerLost(ParameterServerError):
    """A rank died, stalled or never came; the message says who and where."""

    exit_code = EXIT_PEER_LOST


def unknown(what: str, name: str, known: Iterable[str]) -> str:
    """Say that `name` is no known `what`, with the nearest known name.

    >>> unknown("layer type", "Relu", ["ReLU", "TanH"])
    "unknown layer type 'Relu'; did you mean 'ReLU'? (known: ReLU, TanH)"
    """
    names = {n.lower(): n for n in sorted(known)}  # wrong case is the usual slip
    close = difflib.get_close_matches(name.lower(), names, n=1)
    hint = f"; did you mean {names[close[0]]!r}?" if close else ""
    listed = ", ".join(names.values()) or "none"
    return f"unknown {what} {name!r}{hint} (known: {listed})"
