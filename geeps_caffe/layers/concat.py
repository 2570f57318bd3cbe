"""The Concat layer."""

from geeps_caffe.device.array import Shapes
from geeps_caffe.engines import operations
from geeps_caffe.layers.base import Layer


class Concat(Layer):
    """Bottoms one after the other along `axis` (the old name: concat_dim)."""

    type_name = "Concat"
    bottoms = (1, None)

    def setup(self, bottom: Shapes) -> None:
        """Find the axis, by its new or its old name."""
        param = self.spec.concat_param
        if param.HasField("axis") and param.HasField("concat_dim"):
            self.fail("axis and concat_dim are both given; keep axis")
        old = param.HasField("concat_dim")
        name = "concat_dim" if old else "axis"
        self.along = self.axis(getattr(param, name), len(bottom[0]), name)

    def infer_shapes(self, bottom: Shapes) -> Shapes:
        """The sum of the extents; all other axes must agree."""
        first, along = bottom[0], self.along
        for i, shape in enumerate(bottom):
            alike = _others(shape, along) == _others(first, along)
            if len(shape) != len(first) or not alike:
                self.fail(
                    f"bottom[{i}] {self.spec.bottom[i]!r} is {shape} and bottom[0] "
                    f"{first}; all axes but axis {along} must be equal"
                )
        total = sum(shape[along] for shape in bottom)
        return [(*first[:along], total, *first[along + 1 :])]

    def operation(self) -> operations.Concat:
        """All of it."""
        return operations.Concat(self.along)


def _others(shape: tuple[int, ...], axis: int) -> tuple[int, ...]:
    return shape[:axis] + shape[axis + 1 :]
