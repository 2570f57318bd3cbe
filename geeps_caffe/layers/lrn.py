"""The LRN layer."""

from geeps_caffe.device.array import Shapes
from geeps_caffe.engines import operations
from geeps_caffe.layers.base import Layer

ACROSS_CHANNELS = 0  # NormRegion in caffe.proto


class LRN(Layer):
    """Local response normalization of (N, C, H, W).

    ACROSS_CHANNELS: x / (k + alpha / size * sum of squares over size channels) ** beta.
    WITHIN_CHANNEL: x / (1 + alpha * mean of squares over size x size pixels) ** beta,
    zeros outside of the image; Caffe has no k there.
    """

    type_name = "LRN"

    def setup(self, bottom: Shapes) -> None:
        """Check the size of the neighbourhood."""
        self.param = self.spec.lrn_param
        self.across = self.param.norm_region == ACROSS_CHANNELS
        size = self.param.local_size
        if size % 2 == 0:
            self.fail(
                f"local_size is {size}; it must be odd, as the neighbourhood lies "
                "around its middle"
            )
        if len(bottom[0]) != 4:
            self.fail(f"the bottom is {bottom[0]}; expected 4 axes (N, C, H, W)")

    def infer_shapes(self, bottom: Shapes) -> Shapes:
        """The bottom's."""
        return [bottom[0]]

    def operation(self) -> operations.LRN | operations.LRNWithin:
        """All of it."""
        param = self.param
        if self.across:
            numbers = (param.local_size, param.alpha, param.beta, param.k)
            return operations.LRN(*numbers)
        return operations.LRNWithin(param.local_size, param.alpha, param.beta)
