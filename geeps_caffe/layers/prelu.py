"""The PReLU layer."""

from geeps_caffe.device.array import Shapes
from geeps_caffe.layers.base import Blobs, ParamSpec, Run
from geeps_caffe.layers.fillers import learnable
from geeps_caffe.layers.neuron import InputNeuron


class PReLU(InputNeuron):
    """y = x where x > 0, else slope * x. May run in place.

    The learnable slope has shape (C,), or () when channel_shared; it starts at 0.25.
    """

    type_name = "PReLU"

    def setup(self, bottom: Shapes) -> None:
        """Check that there are channels, and read whether they share the slope."""
        if len(bottom[0]) < 2:
            self.fail(f"bottom[0] has shape {bottom[0]}; expected 2 axes or more")
        super().setup(bottom)
        self.shared = self.spec.prelu_param.channel_shared
        self.aligned = (1,) if self.shared else (-1,) + (1,) * (len(bottom[0]) - 2)

    def param_specs(self, bottom: Shapes) -> list[ParamSpec]:
        """The slope."""
        param = self.spec.prelu_param
        given = param.HasField("filler")
        filler = param.filler if given else type(param.filler)(value=0.25)
        return [learnable(self, "slope", () if self.shared else bottom[0][1:2], filler)]

    def forward(self, run: Run, bottom: Blobs, top: Blobs) -> None:
        """Negative values shrink by their channel's slope."""
        self.save_input(run, bottom)
        x, slope = bottom[0].data, run.params[0].data.reshape(self.aligned)
        top[0].data[...] = run.xp.where(x > 0, x, slope * x)

    def backward(self, run: Run, top: Blobs, bottom: Blobs) -> None:
        """The slope's gradient is the sum of diff * x where x <= 0."""
        x, dy = self.input(run, bottom), top[0].diff
        slope = run.params[0]
        if slope.diff is not None:
            axes = None if self.shared else (0, *range(2, x.ndim))
            slope.diff[...] = run.xp.where(x > 0, 0, dy * x).sum(axis=axes)
        if bottom[0].diff is not None:
            rate = slope.data.reshape(self.aligned)
            bottom[0].diff[...] = run.xp.where(x > 0, dy, rate * dy)
