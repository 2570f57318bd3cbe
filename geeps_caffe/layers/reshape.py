"""The Reshape layer."""

from geeps_caffe.device.array import Shape, Shapes, count
from geeps_caffe.layers.view import View


class Reshape(View):
    """The same elements in another shape.

    The axes [axis, axis + num_axes) are replaced by `shape`, in which 0 copies the
    bottom's extent at the same distance from `axis` and one -1 is what remains.
    """

    type_name = "Reshape"

    def setup(self, bottom: Shapes) -> None:
        """Check what does not depend on the bottom's extents."""
        del bottom
        param = self.spec.reshape_param
        if param.num_axes < -1:
            self.fail(f"reshape_param num_axes {param.num_axes} must be -1 or more")
        self.dims = tuple(param.shape.dim)
        if self.dims.count(-1) > 1 or any(dim < -1 for dim in self.dims):
            self.fail(
                f"reshape_param shape {self.dims} may hold one -1, and nothing below"
            )
        if param.pixelshuffler != 1:
            self.fail("reshape_param pixelshuffler is not known here; remove it")

    def infer_shapes(self, bottom: Shapes) -> Shapes:
        """The bottom's shape with `shape` in the place of the replaced axes."""
        shape = bottom[0]
        start, end = self._replaced(shape)
        new = [
            self._copied(shape, start + i) if dim == 0 else int(dim)
            for i, dim in enumerate(self.dims)
        ]
        if -1 in new:
            known = -count((*shape[:start], *new, *shape[end:]))
            if known == 0 or count(shape) % known:
                self.fail(
                    f"the {count(shape)} elements of a bottom of shape {shape} can't "
                    f"be divided by the other extents ({known}) to find the -1 of "
                    f"reshape_param shape {self.dims}"
                )
            new[new.index(-1)] = count(shape) // known
        top = (*shape[:start], *new, *shape[end:])
        if count(top) != count(shape):
            self.fail(
                f"a bottom of shape {shape} has {count(shape)} elements, the top of "
                f"shape {top} would have {count(top)}"
            )
        return [top]

    def _replaced(self, shape: Shape) -> tuple[int, int]:
        """Where the replaced axes start and end."""
        param = self.spec.reshape_param
        start = param.axis if param.axis >= 0 else len(shape) + param.axis + 1
        if not 0 <= start <= len(shape):
            self.fail(
                f"reshape_param axis {param.axis} is outside of a bottom of shape "
                f"{shape}"
            )
        end = len(shape) if param.num_axes == -1 else start + param.num_axes
        if end > len(shape):
            self.fail(
                f"reshape_param axis {param.axis} and num_axes {param.num_axes} go "
                f"beyond a bottom of shape {shape}"
            )
        return start, end

    def _copied(self, shape: Shape, axis: int) -> int:
        if axis >= len(shape):
            self.fail(
                f"reshape_param shape {self.dims} has a 0 that copies axis {axis}, but "
                f"the bottom's shape is {shape}"
            )
        return shape[axis]
