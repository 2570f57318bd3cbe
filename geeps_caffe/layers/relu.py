"""ReLU: negative values are cut off, or made smaller."""

from geeps_caffe.device.array import Shapes
from geeps_caffe.engines.operations import Activation
from geeps_caffe.layers.base import Layer


class ReLU(Layer):
    """y = x where x > 0, else negative_slope * x. May run in place."""

    type_name = "ReLU"
    in_place = True

    def infer_shapes(self, bottom: Shapes) -> Shapes:
        return bottom

    def operation(self) -> Activation:
        return Activation("relu", self.spec.relu_param.negative_slope)
