"""The Scale layer."""

from geeps_caffe.device.array import Shapes
from geeps_caffe.engines import operations
from geeps_caffe.layers.base import Blob, Blobs, ParamSpec, Run
from geeps_caffe.layers.broadcast import Broadcast, broadcast_of
from geeps_caffe.layers.fillers import learnable
from geeps_caffe.layers.neuron import InputNeuron
from geeps_caffe.layers.top_diff import top_diff


class Scale(InputNeuron):
    """y = x * scale, or x * scale + bias with bias_term. May run in place.

    The scale covers the axes of x from `axis` on. It is the second bottom, or a
    learnable blob over `num_axes` axes (-1: all that remain; 0: one number) that
    starts at 1. The bias is a learnable blob of the scale's shape.
    """

    type_name = "Scale"
    bottoms = (1, 2)
    backward_reads = frozenset({"bottom"})

    def setup(self, bottom: Shapes) -> None:
        """Check the axes."""
        over = self._over(bottom)
        by_channel = over.axis == 1 and len(over.shape) == 1
        self.plain = len(bottom) == 1 and by_channel and over.ndim > 1
        self.read_input(*(["bottom1"] if len(bottom) > 1 else []))

    def param_specs(self, bottom: Shapes) -> list[ParamSpec]:
        """The scale where it is no bottom, then the bias."""
        param, shape = self.spec.scale_param, self._over(bottom).shape
        given = param.HasField("filler")
        filler = param.filler if given else type(param.filler)(value=1)
        specs = []
        if len(bottom) == 1:
            specs.append(learnable(self, "scale", shape, filler))
        if param.bias_term:
            specs.append(learnable(self, "bias", shape, param.bias_filler))
        return specs

    def operation(self) -> operations.Scale | None:
        """For learnable scales by channel."""
        if not self.plain:
            return None
        kind = operations.ScaleInPlace if self.runs_in_place else operations.Scale
        return kind(self.spec.scale_param.bias_term)

    def forward(self, run: Run, bottom: Blobs, top: Blobs) -> None:
        """The product, and the sum."""
        if self.plain:
            super().forward(run, bottom, top)
            return
        self.save_input(run, bottom)
        aligned = self._over([b.shape for b in bottom]).aligned
        scale, bias = self._blobs(run, bottom)
        run.xp.multiply(bottom[0].data, scale.data.reshape(aligned), out=top[0].data)
        if bias is not None:
            top[0].data[...] += bias.data.reshape(aligned)

    def backward(self, run: Run, top: Blobs, bottom: Blobs) -> None:
        """The bottom's diff last, since in place it is the top's."""
        if self.plain:
            super().backward(run, top, bottom)
            return
        over = self._over([b.shape for b in bottom])
        scale, bias = self._blobs(run, bottom)
        dy = top_diff(run.xp, top[0])
        if bias is not None and bias.diff is not None:
            bias.diff[...] = over.total(dy)
        if scale.diff is not None:
            scale.diff[...] = over.total(dy * self.input(run, bottom))
        if bottom[0].diff is not None:
            bottom[0].diff[...] = dy * scale.data.reshape(over.aligned)

    def _over(self, bottom: Shapes) -> Broadcast:
        return broadcast_of(self, self.spec.scale_param, bottom)

    def _blobs(self, run: Run, bottom: Blobs) -> tuple[Blob, Blob | None]:
        """The scale and the bias."""
        learnt = list(run.params)
        scale = bottom[1] if len(bottom) > 1 else learnt.pop(0)
        return scale, learnt[0] if learnt else None
