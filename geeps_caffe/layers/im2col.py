"""The Im2col layer."""

from geeps_caffe.device.array import Array, Shapes, count
from geeps_caffe.engines.reference.windows import Windows, fold, images, pad, view
from geeps_caffe.layers.base import Blobs, Layer, Run
from geeps_caffe.layers.windowed import convolved, read_convolution


class Im2col(Layer):
    """The pixels of each window as channels: (N, C * kernel, out ...)."""

    type_name = "Im2col"
    backward_reads = frozenset()

    def setup(self, bottom: Shapes) -> None:
        """Read the window of convolution_param."""
        param = self.spec.convolution_param
        self.channel_axis = self.axis(param.axis, len(bottom[0]))
        axes = len(bottom[0]) - self.channel_axis - 1
        self.geometry = read_convolution(self, param, axes)

    def infer_shapes(self, bottom: Shapes) -> Shapes:
        """Channels are multiplied by the kernel, spatial axes as a convolution's."""
        shape, first = bottom[0], self.channel_axis
        channels = shape[first] * count(self.geometry.kernel)
        sizes = convolved(self, self.geometry, shape[first + 1 :])
        return [(*shape[:first], channels, *sizes)]

    def forward(self, run: Run, bottom: Blobs, top: Blobs) -> None:
        """Copy all windows."""
        axes = len(self.geometry.kernel)
        x = images(bottom[0].data, axes)
        windows = self._windows(x, top[0].data)
        columns = view(run.xp, windows, pad(run.xp, windows, x))
        top[0].data.reshape(columns.shape)[...] = columns

    def backward(self, run: Run, top: Blobs, bottom: Blobs) -> None:
        """Add the windows up."""
        if bottom[0].diff is None or top[0].diff is None:
            return
        dx = images(bottom[0].diff, len(self.geometry.kernel))
        windows = self._windows(dx, top[0].diff)
        shape = (*dx.shape[:2], *windows.kernel, *windows.out)
        dx[...] = fold(run.xp, windows, top[0].diff.reshape(shape))

    def _windows(self, x: Array, y: Array) -> Windows:
        window, out = self.geometry, y.shape[self.channel_axis + 1 :]
        return Windows(
            window.kernel, window.stride, window.pad, window.dilation, x.shape[2:], out
        )
