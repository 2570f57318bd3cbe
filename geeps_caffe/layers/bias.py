"""The Bias layer."""

from geeps_caffe.device.array import Shapes
from geeps_caffe.layers.base import Blobs, ParamSpec, Run
from geeps_caffe.layers.broadcast import broadcast_of
from geeps_caffe.layers.fillers import learnable
from geeps_caffe.layers.neuron import Neuron
from geeps_caffe.layers.top_diff import top_diff


class Bias(Neuron):
    """y = x + bias, where the bias covers the axes of x from `axis` on.

    The bias is the second bottom, or a learnable blob over `num_axes` axes (-1: all
    that remain; 0: one number). May run in place.
    """

    type_name = "Bias"
    bottoms = (1, 2)
    backward_reads = frozenset()

    def setup(self, bottom: Shapes) -> None:
        """Check the axes."""
        broadcast_of(self, self.spec.bias_param, bottom)

    def param_specs(self, bottom: Shapes) -> list[ParamSpec]:
        """The bias, where it is no bottom."""
        if len(bottom) > 1:
            return []
        param = self.spec.bias_param
        shape = broadcast_of(self, param, bottom).shape
        return [learnable(self, "bias", shape, param.filler)]

    def forward(self, run: Run, bottom: Blobs, top: Blobs) -> None:
        """The sum."""
        bias = bottom[1] if len(bottom) > 1 else run.params[0]
        over = broadcast_of(self, self.spec.bias_param, [b.shape for b in bottom])
        top[0].data[...] = bottom[0].data + bias.data.reshape(over.aligned)

    def backward(self, run: Run, top: Blobs, bottom: Blobs) -> None:
        """The bias gets the sum of the diff over the axes that it does not cover."""
        bias = bottom[1] if len(bottom) > 1 else run.params[0]
        over = broadcast_of(self, self.spec.bias_param, [b.shape for b in bottom])
        if bias.diff is not None:
            bias.diff[...] = over.total(top_diff(run.xp, top[0]))
        if bottom[0].diff is not None:
            bottom[0].diff[...] = top[0].diff
