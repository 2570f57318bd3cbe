"""The Deconvolution layer."""

from geeps_caffe.device.array import Shape
from geeps_caffe.engines import operations
from geeps_caffe.layers.convolution import Convolution
from geeps_caffe.layers.windowed import deconvolved


class Deconvolution(Convolution):
    """The transpose of Convolution: what it maps to C channels is mapped back."""

    type_name = "Deconvolution"
    kind = operations.Deconvolution

    def sizes(self, image: Shape) -> Shape:
        """The spatial shape whose convolution has the bottom's."""
        return deconvolved(self, self.geometry, image)

    def weight_channels(self) -> Shape:
        """The first two extents of the weights, in the order of the convolution."""
        return self.channels, self.param.num_output // self.param.group
