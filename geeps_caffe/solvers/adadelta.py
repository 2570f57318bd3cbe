"""AdaDelta (Zeiler, 2012)."""

from collections.abc import Sequence

import numpy as np

from geeps_caffe.device.array import Array
from geeps_caffe.solvers.hyper import Hyper
from geeps_caffe.solvers.rule import Rule


class AdaDelta(Rule):
    """u = g sqrt((U + delta) / (G + delta));  w -= rate u.

    G and U are moving means, with weight momentum on the past, of g^2 (this one
    included) and of u^2 (this one not yet).
    """

    type_name = "AdaDelta"
    slots = ("gradients", "updates")

    def update(
        self,
        grad: Array,
        slots: Sequence[Array],
        hyper: Hyper,
        out: Array,
        spare: Array,
    ) -> Array:
        """Two histories: G and U."""
        gradients, updates = slots
        _add_square(gradients, grad, hyper.momentum, spare)
        np.add(updates, hyper.delta, out=out)
        np.add(gradients, hyper.delta, out=spare)
        np.divide(out, spare, out=out)
        np.sqrt(out, out=out)
        np.multiply(out, grad, out=out)
        _add_square(updates, out, hyper.momentum, spare)
        np.multiply(out, hyper.rate, out=out)
        return out


def _add_square(mean: Array, value: Array, keep: float, spare: Array) -> None:
    """mean = keep mean + (1 - keep) value^2, in place."""
    np.multiply(value, value, out=spare)
    np.multiply(spare, 1.0 - keep, out=spare)
    np.multiply(mean, keep, out=mean)
    np.add(mean, spare, out=mean)
