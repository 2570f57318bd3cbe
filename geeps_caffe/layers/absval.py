"""The AbsVal layer."""

from geeps_caffe.layers.base import Blobs, Run
from geeps_caffe.layers.neuron import Neuron


class AbsVal(Neuron):
    """y = |x|; the gradient at 0 is 0. Not in place, as in Caffe."""

    type_name = "AbsVal"
    in_place = False

    def forward(self, run: Run, bottom: Blobs, top: Blobs) -> None:
        """The absolute values."""
        run.xp.abs(bottom[0].data, out=top[0].data)

    def backward(self, run: Run, top: Blobs, bottom: Blobs) -> None:
        """The top's diff with the sign of x."""
        if bottom[0].diff is not None:
            bottom[0].diff[...] = run.xp.sign(bottom[0].data) * top[0].diff
