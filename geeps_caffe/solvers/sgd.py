"""Stochastic gradient descent with momentum."""

from collections.abc import Sequence

import numpy as np

from geeps_caffe.device.array import Array
from geeps_caffe.solvers.hyper import Hyper
from geeps_caffe.solvers.rule import Rule


class SGD(Rule):
    """h = momentum h + rate g;  w -= h."""

    type_name = "SGD"
    slots = ("history",)

    def update(
        self,
        grad: Array,
        slots: Sequence[Array],
        hyper: Hyper,
        out: Array,
        spare: Array,
    ) -> Array:
        """The history itself is what the weights lose."""
        (history,) = slots
        np.multiply(grad, hyper.rate, out=out)
        np.multiply(history, hyper.momentum, out=history)
        np.add(history, out, out=history)
        return history
