"""The InnerProduct layer."""

from geeps_caffe.device.array import Shape, Shapes, count
from geeps_caffe.engines import operations
from geeps_caffe.layers.base import Layer, ParamSpec
from geeps_caffe.layers.fillers import learnable


class InnerProduct(Layer):
    """top (axes before `axis`, num_output) = bottom, as vectors, @ weights.T + bias."""

    type_name = "InnerProduct"

    def setup(self, bottom: Shapes) -> None:
        """Find where the vectors begin and how long they are."""
        self.param = self.spec.inner_product_param
        self.first = self.axis(self.param.axis, len(bottom[0]))
        self.inputs = count(bottom[0][self.first :])
        if self.param.num_output < 1:
            self.fail("num_output is 0 or missing; give the number of outputs")

    def infer_shapes(self, bottom: Shapes) -> Shapes:
        """The axes from `axis` on become one of num_output."""
        found = count(bottom[0][self.first :])
        if found != self.inputs:
            self.fail(
                f"the bottom {bottom[0]} has {found} values from axis {self.first} on, "
                f"but the weights are for {self.inputs}"
            )
        return [(*bottom[0][: self.first], self.param.num_output)]

    def param_specs(self, bottom: Shapes) -> list[ParamSpec]:
        """Weights (outputs, inputs), the other way round if `transpose`; bias."""
        del bottom
        shape: Shape = (self.param.num_output, self.inputs)
        shape = shape[::-1] if self.param.transpose else shape
        weights = learnable(self, "weight_filler", shape, self.param.weight_filler)
        if not self.param.bias_term:
            return [weights]
        outputs = (self.param.num_output,)
        return [
            weights,
            learnable(self, "bias_filler", outputs, self.param.bias_filler),
        ]

    def operation(self) -> operations.InnerProduct:
        """All of it."""
        return operations.InnerProduct(
            self.first, self.param.transpose, self.param.bias_term
        )
