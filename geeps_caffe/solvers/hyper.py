"""The numbers of a solver prototxt that an update rule uses in one iteration."""

from dataclasses import dataclass
from typing import Any

from geeps_caffe.errors import InputError, unknown

REGULARIZATION_TYPES = ("L1", "L2")


@dataclass(frozen=True)
class Hyper:
    """Caffe's names and defaults; `rate` is of this iteration, before any lr_mult."""

    rate: float
    iteration: int = 0  # updates done before this one
    momentum: float = 0.0
    momentum2: float = 0.999
    delta: float = 1e-8
    rms_decay: float = 0.99
    weight_decay: float = 0.0
    regularization_type: str = "L2"
    clip_gradients: float = -1.0  # largest L2 norm over all tables; negative is off
    iter_size: int = 1  # batches whose gradients were added up

    def __post_init__(self) -> None:
        """Check what no rule could use."""
        kind = self.regularization_type
        if self.weight_decay and kind not in REGULARIZATION_TYPES:
            raise InputError(unknown("regularization_type", kind, REGULARIZATION_TYPES))
        if self.iter_size < 1:
            raise InputError(f"iter_size is {self.iter_size}; it must be at least 1")

    def local(self, lr_mult: float, decay_mult: float) -> "Hyper":
        """The same for one blob, whose rate and decay have multipliers."""
        if lr_mult == 1.0 and decay_mult == 1.0:
            return self
        return Hyper(  # `replace` takes 1.6 times as long, for each blob of a step
            rate=self.rate * lr_mult,
            iteration=self.iteration,
            momentum=self.momentum,
            momentum2=self.momentum2,
            delta=self.delta,
            rms_decay=self.rms_decay,
            weight_decay=self.weight_decay * decay_mult,
            regularization_type=self.regularization_type,
            clip_gradients=self.clip_gradients,
            iter_size=self.iter_size,
        )

    @property
    def clips(self) -> bool:
        """Whether an update needs the norm of the whole gradient first."""
        return self.clip_gradients >= 0


def read_hyper(solver: Any, rate: float, iteration: int) -> Hyper:
    """The numbers of a SolverParameter message, at this rate and iteration.

    Raises:
        InputError: iter_size or regularization_type is of no use.
    """
    return Hyper(
        rate=rate,
        iteration=iteration,
        momentum=solver.momentum,
        momentum2=solver.momentum2,
        delta=solver.delta,
        rms_decay=solver.rms_decay,
        weight_decay=solver.weight_decay,
        regularization_type=solver.regularization_type,
        clip_gradients=solver.clip_gradients,
        iter_size=solver.iter_size,
    )
