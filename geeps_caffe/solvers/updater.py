"""One solver step over flat arrays, a piece that fits the cache at a time."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from geeps_caffe.device.array import Array
from geeps_caffe.solvers.gradients import regularize
from geeps_caffe.solvers.hyper import Hyper
from geeps_caffe.solvers.rule import Rule

CHUNK_BYTES = 1 << 17  # six or so such pieces are in use at once: a second-level cache


class Updater:
    """A rule with its work arrays; a step allocates nothing.

    Use one per thread. `chunk` is the number of elements handled at a time.
    """

    def __init__(
        self, rule: Rule, dtype: npt.DTypeLike, chunk_bytes: int = CHUNK_BYTES
    ) -> None:
        self.rule = rule
        self.chunk = max(1, chunk_bytes // np.dtype(dtype).itemsize)
        self._grad, self._out, self._spare = np.empty((3, self.chunk), dtype)

    @property
    def is_sgd(self) -> bool:
        """Whether the rule is SGD with momentum, which engines may do faster."""
        return self.rule.type_name == "SGD"

    def step(
        self,
        weights: Array,
        grad: Array,
        slots: Sequence[Array],
        hyper: Hyper,
        scale: float = 1.0,
    ) -> None:
        """Update `weights` and `slots` in place; `grad` is kept as it is.

        All arrays are flat, of one size and dtype. `hyper` is the blob's own
        (`Hyper.local`); `scale` is `gradients.normalization`.
        """
        for start in range(0, weights.size, self.chunk):
            piece = slice(start, start + self.chunk)
            self.step_chunk(
                weights[piece], grad[piece], [s[piece] for s in slots], hyper, scale
            )

    def step_chunk(
        self,
        weights: Array,
        grad: Array,
        slots: Sequence[Array],
        hyper: Hyper,
        scale: float = 1.0,
    ) -> None:
        """The same for at most `chunk` elements."""
        n = weights.size
        work, out, spare = self._grad[:n], self._out[:n], self._spare[:n]
        if scale != 1.0:
            grad = np.multiply(grad, scale, out=work)
        grad = regularize(grad, weights, hyper, work, spare)
        np.subtract(
            weights, self.rule.update(grad, slots, hyper, out, spare), out=weights
        )
