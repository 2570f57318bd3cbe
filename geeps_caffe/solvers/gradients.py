"""What Caffe does to a gradient before its rule: clip, normalize, regularize."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from math import sqrt

import numpy as np

from geeps_caffe.device.array import Array
from geeps_caffe.solvers.hyper import Hyper

_NORM_CHUNK = 8192  # elements: BLAS sums so few on one thread, in a fixed order


@dataclass(frozen=True)
class Clipping:
    """What clip_gradients did in one iteration; `scale` is 1 if it did nothing."""

    norm: float  # L2, over all tables, of the gradient summed over iter_size
    limit: float

    @property
    def scale(self) -> float:
        """The factor on every gradient."""
        return self.limit / self.norm if self.norm > self.limit else 1.0


def sum_of_squares(grad: Array) -> float:
    """Of a flat array; in double precision, the same on every run.

    However a table is cut among hosts, the norm is the same in single precision.
    """
    total = 0.0
    for start in range(0, grad.size, _NORM_CHUNK):
        part = grad[start : start + _NORM_CHUNK].astype(np.float64, copy=False)
        total += float(np.dot(part, part))
    return total


def clip(hyper: Hyper, squares: Iterable[float]) -> Clipping:
    """How much to scale gradients whose sums of squares are `squares`."""
    return Clipping(norm=sqrt(sum(squares)), limit=hyper.clip_gradients)


def normalization(hyper: Hyper, clipping: Clipping | None) -> float:
    """The one factor for clip_gradients and iter_size, which Caffe applies in turn.

    The norm is clipped before the division by iter_size.
    """
    scale = 1.0 if clipping is None else clipping.scale
    return scale / hyper.iter_size


def regularize(
    grad: Array, weights: Array, hyper: Hyper, out: Array, spare: Array
) -> Array:
    """The gradient of loss and penalty: `grad` itself without decay, else `out`."""
    if not hyper.weight_decay:
        return grad
    penalty = _PENALTIES[hyper.regularization_type]
    penalty(weights, hyper.weight_decay, spare)
    np.add(grad, spare, out=out)
    return out


def _l2(weights: Array, decay: float, out: Array) -> None:
    np.multiply(weights, decay, out=out)


def _l1(weights: Array, decay: float, out: Array) -> None:
    np.sign(weights, out=out)
    np.multiply(out, decay, out=out)


_PENALTIES: Mapping[str, Callable[[Array, float, Array], None]] = {
    "L1": _l1,
    "L2": _l2,
}
