"""The Tile layer."""

from geeps_caffe.device.array import Shapes
from geeps_caffe.engines import operations
from geeps_caffe.layers.base import Layer


class Tile(Layer):
    """The bottom `tiles` times along `axis`."""

    type_name = "Tile"

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

    def operation(self) -> operations.Tile:
        """All of it."""
        return operations.Tile(self.along, self.tiles)
