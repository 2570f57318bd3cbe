"""What a run tells while it goes on, as plain values; `log_lines` words them.

A Trainer hands each of these to the function it was given, at the moment when Caffe
would write the line.
"""

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True)
class Output:
    """One number of an output blob; `weight` is its loss weight or 0."""

    index: int
    name: str
    value: float
    weight: float = 0.0


@dataclass(frozen=True)
class Solving:
    """Solver::Solve has begun."""

    net: str
    policy: str


@dataclass(frozen=True)
class Testing:
    """A test net is about to run; `ignored` are layers of the training net it lacks."""

    iteration: int
    net: int
    ignored: tuple[str, ...] = ()


@dataclass(frozen=True)
class Tested:
    """Means over test_iter batches; `loss` only with test_compute_loss."""

    outputs: tuple[Output, ...]
    loss: float | None = None
    interrupted: bool = False


@dataclass(frozen=True)
class Displayed:
    """A training iteration that is shown; `loss` is the mean of average_loss ones."""

    iteration: int
    loss: float
    outputs: tuple[Output, ...]
    rate: float  # learning rate
    seconds: float  # since the last such report
    iterations: int  # since the last such report
    display: int  # the solver's field
    #: multistep: a step was reached in this iteration, its number
    step: int | None = None


@dataclass(frozen=True)
class Clipped:
    """clip_gradients scaled the gradients down."""

    norm: float
    limit: float


@dataclass(frozen=True)
class BlobMean:
    """debug_info: the mean absolute value of a blob's data or diff after a layer."""

    direction: str  # "Forward" or "Backward"
    layer: str
    role: str  # "top", "bottom" or "param"
    blob: str  # its name; a param's index
    what: str  # "data" or "diff"
    value: float


@dataclass(frozen=True)
class ParamNorms:
    """debug_info: norms over all params of the net, before their update."""

    l1_data: float
    l1_diff: float
    l2_data: float
    l2_diff: float


@dataclass(frozen=True)
class StepReached:
    """lr_policy multistep has come to its next value."""

    iteration: int
    step: int


@dataclass(frozen=True)
class Snapshotting:
    """A file of a snapshot is being written; `kind` "weights" or "state"."""

    path: str
    kind: str
    hdf5: bool = False


@dataclass(frozen=True)
class SnapshotFailed:
    """A snapshot could not be written; training goes on."""

    path: str
    reason: str


@dataclass(frozen=True)
class Restoring:
    """A solver state is read; `path` as given."""

    path: str


@dataclass(frozen=True)
class Finetuning:
    """Weights are copied from a file; `ignored` are its layers that the net lacks."""

    path: str
    ignored: tuple[str, ...] = ()


@dataclass(frozen=True)
class Notice:
    """Something a user should know; `level` "I" or "W"."""

    text: str
    level: str = "I"


@dataclass(frozen=True)
class Finished:
    """The end: `loss` where the last iteration is displayed; early: on request."""

    iteration: int
    loss: float | None = None
    early: bool = False


Report: TypeAlias = (
    Solving
    | Testing
    | Tested
    | Displayed
    | Clipped
    | BlobMean
    | ParamNorms
    | StepReached
    | Snapshotting
    | SnapshotFailed
    | Restoring
    | Finetuning
    | Notice
    | Finished
)
