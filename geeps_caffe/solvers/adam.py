"""Adam (Kingma and Ba, 2015)."""

from collections.abc import Sequence
from math import sqrt

import numpy as np

from geeps_caffe.device.array import Array
from geeps_caffe.errors import InputError
from geeps_caffe.solvers.hyper import Hyper
from geeps_caffe.solvers.rule import Rule


class Adam(Rule):
    """w -= rate c m / (sqrt(v) + delta), with m, v the moving means of g and g^2.

    The bias correction c scales the rate, so delta is not corrected (as in Caffe).
    """

    type_name = "Adam"
    slots = ("m", "v")

    def check(self, hyper: Hyper) -> None:
        """At 1 a moving mean never moves, and the correction divides by 0."""
        for name in ("momentum", "momentum2"):
            value = getattr(hyper, name)
            if not 0 <= value < 1:
                raise InputError(f"{name}: {value:g} is not in [0, 1), as Adam needs")

    def update(
        self,
        grad: Array,
        slots: Sequence[Array],
        hyper: Hyper,
        out: Array,
        spare: Array,
    ) -> Array:
        """Two histories: m and v."""
        m, v = slots
        beta1, beta2 = hyper.momentum, hyper.momentum2
        np.multiply(grad, 1.0 - beta1, out=spare)
        np.multiply(m, beta1, out=m)
        np.add(m, spare, out=m)
        np.multiply(grad, grad, out=spare)
        np.multiply(spare, 1.0 - beta2, out=spare)
        np.multiply(v, beta2, out=v)
        np.add(v, spare, out=v)
        np.sqrt(v, out=spare)
        np.add(spare, hyper.delta, out=spare)
        np.divide(m, spare, out=out)
        np.multiply(out, hyper.rate * _correction(hyper), out=out)
        return out


def _correction(hyper: Hyper) -> float:
    t = hyper.iteration + 1
    return sqrt(1.0 - hyper.momentum2**t) / (1.0 - hyper.momentum**t)
