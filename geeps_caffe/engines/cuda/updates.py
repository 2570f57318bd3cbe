"""Updates of weights on the device: the solvers' rules as kernels, and sums."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from geeps_caffe.device.array import Array
from geeps_caffe.device.backend import CudaDevice
from geeps_caffe.device.device import Call
from geeps_caffe.engines.engine import RuleCall

RULES = ("SGD", "Nesterov", "AdaGrad", "RMSProp", "AdaDelta", "Adam")
PIECE = 1 << 13  # elements that one block adds up


class CudaUpdates:
    """See `engine.Updates`. Calls launch on the queue of computing."""

    def __init__(self, device: CudaDevice) -> None:
        self._device = device

    def bind_rule(
        self, rule: str, weights: Array, grad: Array, slots: Sequence[Array]
    ) -> RuleCall:
        """The kernel of a solver's rule over flat arrays of one size."""
        assert rule in RULES, rule
        name = rule.lower()
        arrays = (weights, grad, *slots)
        return _Launches(
            lambda *numbers: self._bind(
                f"{name}.cu", name, weights.size, *arrays, *numbers
            )
        )

    def bind_add(self, source: Array, target: Array) -> Call:
        """target += source, over flat arrays."""
        args = (source, target, 1.0)
        return self._bind("weighted_sum.cu", "scaled_add", target.size, *args)

    def sum_of_squares(self, array: Array) -> float:
        """Of a flat array, in double precision.

        Where a table lies changes nothing: a norm rounded to single precision is that
        of `solvers.sum_of_squares`, and so is a clipped gradient.
        """
        n = -(-array.size // PIECE)
        with self._device.running():
            parts = self._device.cupy.zeros(n, np.float64)
            args = (array, parts, PIECE, array.size)
            self._bind("squares.cu", "sum_of_squares", n, *args)()
        return float(self._device.to_host(parts).sum())

    def _bind(self, file: str, kernel: str, n: int, *args: Any) -> Call:
        return self._device.kernels.bind(file, kernel, n, *args)


class _Launches:
    """A kernel bound anew only when its numbers change, as rates mostly do not."""

    def __init__(self, bind: Callable[..., Call]) -> None:
        self._bind = bind
        self._numbers: tuple[float, ...] | None = None
        self._call: Call | None = None

    def __call__(self, numbers: tuple[float, ...]) -> None:
        if self._call is None or numbers != self._numbers:
            self._numbers, self._call = numbers, self._bind(*numbers)
        self._call()
