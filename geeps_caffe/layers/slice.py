"""The Slice layer."""

from itertools import pairwise

from geeps_caffe.device.array import Shapes
from geeps_caffe.engines import operations
from geeps_caffe.layers.base import Layer


class Slice(Layer):
    """The bottom cut into tops along `axis` (the old name: slice_dim).

    Cuts are at the indices slice_point; without them all tops are equally long.
    """

    type_name = "Slice"
    tops = (1, None)

    def setup(self, bottom: Shapes) -> None:
        """Find the axis, by its new or its old name."""
        param = self.spec.slice_param
        if param.HasField("axis") and param.HasField("slice_dim"):
            self.fail("axis and slice_dim are both given; keep axis")
        name = "slice_dim" if param.HasField("slice_dim") else "axis"
        self.along = self.axis(getattr(param, name), len(bottom[0]), name)

    def infer_shapes(self, bottom: Shapes) -> Shapes:
        """The bottom's shape, shorter along the axis."""
        shape, along = bottom[0], self.along
        self.cuts = [0, *self._points(shape[along]), shape[along]]
        if any(begin >= end for begin, end in pairwise(self.cuts)):
            self.fail(
                f"slice_point {self.cuts[1:-1]} does not cut the {shape[along]} of "
                f"axis {along} into parts; points must increase, from 1 to "
                f"{shape[along] - 1}"
            )
        return [
            (*shape[:along], end - begin, *shape[along + 1 :])
            for begin, end in pairwise(self.cuts)
        ]

    def _points(self, extent: int) -> list[int]:
        points, tops = list(self.spec.slice_param.slice_point), len(self.spec.top)
        if points and len(points) != tops - 1:
            self.fail(
                f"{len(points)} numbers of slice_point are given for {tops} tops; give "
                f"{tops - 1}, or none for equal parts"
            )
        if not points and extent % tops:
            self.fail(
                f"the {extent} of axis {self.along} can't be cut into {tops} equal "
                "tops; give slice_point"
            )
        return points or [i * extent // tops for i in range(1, tops)]

    def operation(self) -> operations.Slice:
        """All of it."""
        return operations.Slice(self.along, tuple(self.cuts))
