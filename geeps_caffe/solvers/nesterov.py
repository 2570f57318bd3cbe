"""Nesterov's accelerated gradient."""

from collections.abc import Sequence

import numpy as np

from geeps_caffe.device.array import Array
from geeps_caffe.solvers.hyper import Hyper
from geeps_caffe.solvers.rule import Rule


class Nesterov(Rule):
    """h' = momentum h + rate g;  w -= (1 + momentum) h' - momentum h."""

    type_name = "Nesterov"
    slots = ("history",)

    def update(
        self,
        grad: Array,
        slots: Sequence[Array],
        hyper: Hyper,
        out: Array,
        spare: Array,
    ) -> Array:
        """Both the old and the new history count."""
        (history,) = slots
        np.multiply(grad, hyper.rate, out=out)
        np.multiply(history, hyper.momentum, out=spare)  # momentum h
        np.add(spare, out, out=history)
        np.multiply(history, 1.0 + hyper.momentum, out=out)
        np.subtract(out, spare, out=out)
        return out
