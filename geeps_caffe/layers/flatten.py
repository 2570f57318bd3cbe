"""The Flatten layer."""

from geeps_caffe.device.array import Shapes, count
from geeps_caffe.layers.view import View


class Flatten(View):
    """The axes from `axis` to `end_axis`, both included, become one."""

    type_name = "Flatten"

    def infer_shapes(self, bottom: Shapes) -> Shapes:
        """The shape with the product in the place of the axes."""
        shape, param = bottom[0], self.spec.flatten_param
        first = self.axis(param.axis, len(shape), "flatten_param axis")
        last = self.axis(param.end_axis, len(shape), "flatten_param end_axis")
        if first > last:
            self.fail(
                f"flatten_param axis {param.axis} comes after end_axis "
                f"{param.end_axis} of a bottom of shape {shape}"
            )
        middle = count(shape[first : last + 1])
        return [(*shape[:first], middle, *shape[last + 1 :])]
