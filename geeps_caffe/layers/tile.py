"""The Tile layer."""

from geeps_caffe.device.array import Shapes
from geeps_caffe.layers.base import Blobs, Layer, Run


class Tile(Layer):
    """The bottom `tiles` times along `axis`."""

    type_name = "Tile"
    backward_reads = frozenset()

    def setup(self, bottom: Shapes) -> None:
        """Check the axis and the number of copies."""
        param = self.spec.tile_param
        self.along = self.axis(param.axis, len(bottom[0]))
        self.tiles = param.tiles
        if self.tiles < 1:
            self.fail(f"tiles is {self.tiles}; give the number of copies, 1 or more")

    def infer_shapes(self, bottom: Shapes) -> Shapes:
        """One axis becomes `tiles` times as long."""
        shape = list(bottom[0])
        shape[self.along] *= self.tiles
        return [tuple(shape)]

    def forward(self, run: Run, bottom: Blobs, top: Blobs) -> None:
        """Copy."""
        x = bottom[0].data
        copies = (*x.shape[: self.along], self.tiles, *x.shape[self.along :])
        top[0].data.reshape(copies)[...] = run.xp.expand_dims(x, self.along)

    def backward(self, run: Run, top: Blobs, bottom: Blobs) -> None:
        """Add the copies up."""
        dx, dy = bottom[0].diff, top[0].diff
        if dx is not None and dy is not None:
            copies = (*dx.shape[: self.along], self.tiles, *dx.shape[self.along :])
            dy.reshape(copies).sum(axis=self.along, out=dx)
