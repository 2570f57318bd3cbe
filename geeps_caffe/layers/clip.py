"""The Clip layer."""

from geeps_caffe.device.array import Shapes
from geeps_caffe.layers.base import Blobs, Run
from geeps_caffe.layers.neuron import Neuron


class Clip(Neuron):
    """y = x limited to [min, max]; the diff passes where min <= x <= max.

    Caffe's backward looks at the bottom. In place that holds y, which is never out
    of bounds, so there the whole diff passes; kept, since trained nets rely on it.
    """

    type_name = "Clip"
    backward_reads = frozenset({"bottom0"})

    def setup(self, bottom: Shapes) -> None:
        """Read the bounds."""
        del bottom
        self.low, self.high = self.spec.clip_param.min, self.spec.clip_param.max
        if self.runs_in_place:
            self.declare_reads()

    def forward(self, run: Run, bottom: Blobs, top: Blobs) -> None:
        """The limited values."""
        above = run.xp.minimum(bottom[0].data, self.high)
        top[0].data[...] = run.xp.maximum(above, self.low)

    def backward(self, run: Run, top: Blobs, bottom: Blobs) -> None:
        """The diff between the bounds, 0 outside."""
        if bottom[0].diff is None:
            return
        if self.runs_in_place:
            bottom[0].diff[...] = top[0].diff
            return
        x = bottom[0].data
        inside = (x >= self.low) & (x <= self.high)
        bottom[0].diff[...] = run.xp.where(inside, top[0].diff, 0)
