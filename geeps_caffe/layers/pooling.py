"""The Pooling layer."""

from geeps_caffe.device.array import Shape, Shapes
from geeps_caffe.engines.operations import AveragePooling, MaxPooling
from geeps_caffe.engines.reference.windows import Windows
from geeps_caffe.layers import stochastic
from geeps_caffe.layers.base import Blobs, Layer, Run, SavedSpec
from geeps_caffe.layers.windowed import Geometry, pooled, read_pooling

MAX, AVE, STOCHASTIC = 0, 1, 2  # PoolMethod in caffe.proto
CEIL = 0  # RoundMode


class Pooling(Layer):
    """The maximum, mean or a random choice of each window of (N, C, H, W).

    A second top of MAX has the flat index, in the image, of each maximum.
    """

    type_name = "Pooling"
    tops = (1, 2)

    def setup(self, bottom: Shapes) -> None:
        """Read the window."""
        self.param = self.spec.pooling_param
        self.method = self.param.pool
        if len(bottom[0]) != 4:
            self.fail(f"the bottom is {bottom[0]}; expected 4 axes (N, C, H, W)")
        if len(self.spec.top) > 1 and self.method != MAX:
            self.fail("only pool: MAX has a second top; leave it out")
        self.geometry = read_pooling(self, self.param, bottom[0][2:])
        if any(self.geometry.pad) and self.method == STOCHASTIC:
            self.fail("pool: STOCHASTIC takes no padding; leave pad out")
        reads_bottom = self.method == STOCHASTIC and self.setting.phase == "TEST"
        # The class says what backward may read, a layer what it reads in this net.
        self.backward_reads = frozenset({"bottom"} if reads_bottom else ())  # type: ignore[misc]

    def infer_shapes(self, bottom: Shapes) -> Shapes:
        """Caffe's sizes; with global_pooling the window follows the bottom."""
        image = bottom[0][2:]
        self.geometry = read_pooling(self, self.param, image)
        ceil = self.param.round_mode == CEIL
        sizes = pooled(self, self.geometry, image, ceil)
        return [(*bottom[0][:2], *sizes)] * max(1, len(self.spec.top))

    def operation(self) -> MaxPooling | AveragePooling | None:
        """MAX and AVE are all of one."""
        window: Geometry = self.geometry
        if self.method == STOCHASTIC:
            return None
        kind = MaxPooling if self.method == MAX else AveragePooling
        return kind(window.kernel, window.stride, window.pad)

    def saved_specs(self, bottom: Shapes) -> list[SavedSpec]:
        """STOCHASTIC: the places drawn."""
        if self.setting.phase == "TEST":
            return []
        return [SavedSpec(tuple(self.infer_shapes(bottom)[0]), "int32")]

    def forward(self, run: Run, bottom: Blobs, top: Blobs) -> None:
        """STOCHASTIC: draw in training, take the expectation in testing."""
        if self.method != STOCHASTIC:
            super().forward(run, bottom, top)
            return
        x, y = bottom[0].data, top[0].data
        windows = self._windows(x.shape, y.shape)
        if self.setting.phase == "TEST":
            y[...] = stochastic.expect(run.xp, windows, x)
        else:
            uniform = run.xp.asarray(run.random.uniform(y.shape))
            y[...], run.saved[0][...] = stochastic.draw(run.xp, windows, x, uniform)

    def backward(self, run: Run, top: Blobs, bottom: Blobs) -> None:
        """STOCHASTIC."""
        if self.method != STOCHASTIC:
            super().backward(run, top, bottom)
            return
        dx, dy = bottom[0].diff, top[0].diff
        if dx is None or dy is None:
            return
        windows = self._windows(dx.shape, dy.shape)
        if self.setting.phase == "TEST":
            x = bottom[0].data
            dx[...] = stochastic.expect_gradient(run.xp, windows, x, dy)
        else:
            place = run.saved[0]
            dx[...] = stochastic.draw_gradient(run.xp, windows, place, dy)

    def _windows(self, bottom: Shape, top: Shape) -> Windows:
        window = self.geometry
        return Windows(
            window.kernel,
            window.stride,
            window.pad,
            window.dilation,
            bottom[2:],
            top[2:],
        )
