"""The ArgMax layer."""

from geeps_caffe.device.array import Array, ArrayModule, Shapes, count
from geeps_caffe.layers.base import Blobs, Layer, Run


class ArgMax(Layer):
    """The indices of the `top_k` largest values, as floats, the largest first.

    With `axis`: along it, values instead of indices with out_max_val; the axis has
    extent top_k. Without: over all axes but the first; the top is (N, 1, top_k), or
    (N, 2, top_k) with out_max_val: indices, then values. Of equal values the one
    with the larger index comes first, as in Caffe. There is no gradient.
    """

    type_name = "ArgMax"
    backward_reads = frozenset()
    no_gradient = frozenset({0})

    def setup(self, bottom: Shapes) -> None:
        """Check top_k against the number of values."""
        param = self.spec.argmax_param
        self.along: int | None = None
        if param.HasField("axis"):
            self.along = self.axis(param.axis, len(bottom[0]))
            most = bottom[0][self.along]
        else:
            most = count(bottom[0][1:])
        if not 1 <= param.top_k <= most:
            self.fail(
                f"argmax_param top_k {param.top_k} must be from 1 to {most}, the "
                f"number of values in a bottom of shape {bottom[0]}"
            )

    def infer_shapes(self, bottom: Shapes) -> Shapes:
        """At least 3 axes where there is no `axis`."""
        param, shape = self.spec.argmax_param, bottom[0]
        if self.along is not None:
            return [(*shape[: self.along], param.top_k, *shape[self.along + 1 :])]
        rows = 2 if param.out_max_val else 1
        return [(shape[0], rows, param.top_k, *(1,) * (len(shape) - 3))]

    def forward(self, run: Run, bottom: Blobs, top: Blobs) -> None:
        """Sort and take the first."""
        param, x, y = self.spec.argmax_param, bottom[0].data, top[0].data
        if self.along is not None:
            order = _largest(run.xp, x, self.along, param.top_k)
            values = run.xp.take_along_axis(x, order, axis=self.along)
            y[...] = values if param.out_max_val else order
            return
        rows = x.reshape(len(x), -1)
        order = _largest(run.xp, rows, 1, param.top_k)
        y = y.reshape(len(x), -1, param.top_k)
        y[:, 0] = order
        if param.out_max_val:
            y[:, 1] = run.xp.take_along_axis(rows, order, axis=1)

    def backward(self, run: Run, top: Blobs, bottom: Blobs) -> None:
        """Nothing; nobody can ask for a diff."""


def _largest(xp: ArrayModule, x: Array, axis: int, k: int) -> Array:
    """Indices of the k largest values along `axis`, the last of equals first."""
    order = xp.flip(xp.argsort(x, axis=axis, kind="stable"), axis=axis)
    first = (slice(None),) * axis + (slice(k),)
    return order[first]  # type: ignore[no-any-return]  # xp is Any
