"""The LRN layer."""

from geeps_caffe.device.array import Array, ArrayModule, Shapes
from geeps_caffe.engines import operations
from geeps_caffe.engines.operations import AveragePooling
from geeps_caffe.engines.reference import average_pooling
from geeps_caffe.layers.base import Blobs, Layer, Run, SavedSpec

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

    def operation(self) -> operations.LRN | None:
        """ACROSS_CHANNELS is all of one."""
        param = self.param
        if not self.across:
            return None
        return operations.LRN(param.local_size, param.alpha, param.beta, param.k)

    def saved_specs(self, bottom: Shapes) -> list[SavedSpec]:
        """The scales of WITHIN_CHANNEL."""
        return [SavedSpec(bottom[0])]

    def forward(self, run: Run, bottom: Blobs, top: Blobs) -> None:
        """WITHIN_CHANNEL."""
        if self.across:
            super().forward(run, bottom, top)
            return
        x, scale = bottom[0].data, run.saved[0]
        ports = {"bottom0": x * x, "top0": scale}
        average_pooling.forward(self._window(), run.xp, ports)
        scale *= self.param.alpha
        scale += 1
        top[0].data[...] = x * scale**-self.param.beta

    def backward(self, run: Run, top: Blobs, bottom: Blobs) -> None:
        """Through the value itself, and through its neighbours' scales."""
        if self.across:
            super().backward(run, top, bottom)
        elif bottom[0].diff is not None and top[0].diff is not None:
            dx = self._within(run.xp, bottom[0].data, top[0].diff, run.saved[0])
            bottom[0].diff[...] = dx

    def _within(self, xp: ArrayModule, x: Array, dy: Array, scale: Array) -> Array:
        direct: Array = dy * scale**-self.param.beta
        shares: Array = xp.empty_like(x)
        ports = {"top0.diff": direct * x / scale, "bottom0.diff": shares}
        average_pooling.backward(self._window(), xp, ports)
        factor = float(2 * self.param.alpha * self.param.beta)
        return direct - factor * x * shares

    def _window(self) -> AveragePooling:
        size = self.param.local_size
        return AveragePooling((size, size), (1, 1), (size // 2, size // 2))
