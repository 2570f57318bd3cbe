"""RMSProp (Tieleman and Hinton, 2012)."""

from collections.abc import Sequence

import numpy as np

from geeps_caffe.device.array import Array
from geeps_caffe.errors import InputError
from geeps_caffe.solvers.hyper import Hyper
from geeps_caffe.solvers.rule import Rule


class RMSProp(Rule):
    """h = rms_decay h + (1 - rms_decay) g^2;  w -= rate g / (sqrt(h) + delta)."""

    type_name = "RMSProp"
    slots = ("history",)

    def check(self, hyper: Hyper) -> None:
        """Caffe, too, refuses a momentum, and a decay outside [0, 1)."""
        if hyper.momentum:
            raise InputError(
                f"momentum: {hyper.momentum:g} can't be used with RMSProp; remove it"
            )
        if not 0 <= hyper.rms_decay < 1:
            raise InputError(f"rms_decay: {hyper.rms_decay:g} is not in [0, 1)")

    def update(
        self,
        grad: Array,
        slots: Sequence[Array],
        hyper: Hyper,
        out: Array,
        spare: Array,
    ) -> Array:
        """The history is a moving mean of squares."""
        (history,) = slots
        np.multiply(grad, grad, out=spare)
        np.multiply(spare, 1.0 - hyper.rms_decay, out=spare)
        np.multiply(history, hyper.rms_decay, out=history)
        np.add(history, spare, out=history)
        np.sqrt(history, out=spare)
        np.add(spare, hyper.delta, out=spare)
        np.divide(grad, spare, out=out)
        np.multiply(out, hyper.rate, out=out)
        return out
