"""The Parameter layer."""

from geeps_caffe.device.array import Shape, Shapes
from geeps_caffe.layers.base import Blobs, Layer, ParamSpec, Run


class Parameter(Layer):
    """A learnable blob as a top; it starts at 0."""

    type_name = "Parameter"
    bottoms = (0, 0)
    backward_reads = frozenset()

    def infer_shapes(self, bottom: Shapes) -> Shapes:
        """The declared shape."""
        del bottom
        return [self._shape]

    def param_specs(self, bottom: Shapes) -> list[ParamSpec]:
        """The blob."""
        del bottom
        return [ParamSpec(self._shape)]

    def forward(self, run: Run, bottom: Blobs, top: Blobs) -> None:
        """Show the blob."""
        del bottom
        top[0].data[...] = run.params[0].data

    def backward(self, run: Run, top: Blobs, bottom: Blobs) -> None:
        """The top's diff is the blob's."""
        del bottom
        if run.params[0].diff is not None:
            run.params[0].diff[...] = top[0].diff

    @property
    def _shape(self) -> Shape:
        return tuple(self.spec.parameter_param.shape.dim)
