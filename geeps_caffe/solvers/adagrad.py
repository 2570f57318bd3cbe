"""AdaGrad (Duchi et al., 2011)."""

from collections.abc import Sequence

import numpy as np

from geeps_caffe.device.array import Array
from geeps_caffe.errors import InputError
from geeps_caffe.solvers.hyper import Hyper
from geeps_caffe.solvers.rule import Rule


class AdaGrad(Rule):
    """h += g^2;  w -= rate g / (sqrt(h) + delta)."""

    type_name = "AdaGrad"
    slots = ("history",)

    def check(self, hyper: Hyper) -> None:
        """Caffe, too, refuses a momentum that would have no effect."""
        if hyper.momentum:
            raise InputError(
                f"momentum: {hyper.momentum:g} can't be used with AdaGrad; remove it"
            )

    def update(
        self,
        grad: Array,
        slots: Sequence[Array],
        hyper: Hyper,
        out: Array,
        spare: Array,
    ) -> Array:
        """The history is the sum of all squares so far."""
        (history,) = slots
        np.multiply(grad, grad, out=spare)
        np.add(history, spare, out=history)
        np.sqrt(history, out=spare)
        np.add(spare, hyper.delta, out=spare)
        np.divide(grad, spare, out=out)
        np.multiply(out, hyper.rate, out=out)
        return out
